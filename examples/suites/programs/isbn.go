//go:build ignore

// Is the check digit of the ISBN-13 in the answer right? Build it with `go build -o isbn isbn.go`.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
)

func main() {
	var trial struct {
		Answer string `json:"answer"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&trial); err != nil {
		log.Fatal(err) // on standard error, and the exit status is 1: the trial is an error
	}
	var result struct {
		Score  bool   `json:"score"`
		Reason string `json:"reason"`
	}
	result.Score, result.Reason = judge(trial.Answer)
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		log.Fatal(err)
	}
}

// judge checks an ISBN-13: the digits, times 1 and 3 in turn, add up to a multiple of 10.
func judge(answer string) (right bool, reason string) {
	var digits []int
	for _, c := range answer {
		if c >= '0' && c <= '9' {
			digits = append(digits, int(c-'0'))
		}
	}
	if len(digits) != 13 {
		return false, fmt.Sprintf("13 digits are expected, %d came", len(digits))
	}
	sum := 0
	for i, d := range digits[:12] {
		sum += d * (1 + i%2*2)
	}
	if check := (10 - sum%10) % 10; digits[12] != check {
		return false, fmt.Sprintf("the check digit is %d, it should be %d", digits[12], check)
	}
	return true, "the check digit is right"
}
