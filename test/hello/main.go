// Command hello is the smallest program with cobra: what test/startup.sh compares the start of evalrun with.
package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func main() {
	hello := &cobra.Command{Use: "hello", RunE: func(*cobra.Command, []string) error {
		_, err := fmt.Println("hello")
		return err
	}}
	cobra.CheckErr(hello.Execute())
}
