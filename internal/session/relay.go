package session

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"

	"github.com/evalrun/evalrun/internal/files"
)

// A program in a sandbox without a network reaches the proxy by a relay: evalrun itself, which the sandbox starts under the name
// relayProgram, and which listens at the address of the proxy and copies bytes to a socket that the sandbox shows. It starts the program.
const (
	relayProgram = "/relay/evalrun"
	relaySocket  = "/relay/socket"
)

// Whatever program embeds evalrun has to be the relay too, so that no main function can do this.
func init() {
	if os.Args[0] == relayProgram && len(os.Args) > 2 {
		os.Exit(relay(os.Args[1], os.Args[2:]))
	}
}

// relay runs a command with a way from an address to the socket, and returns its status.
func relay(address string, command []string) int {
	at, err := net.Listen("tcp", address)
	if err != nil {
		fmt.Fprintf(os.Stderr, "no relay can be started for the calls of programs: %s\n", err)
		return files.StatusOf(err)
	}
	go func() {
		for {
			conn, err := at.Accept()
			if err != nil {
				return
			}
			go join(conn)
		}
	}()
	cmd := exec.Command(command[0], command[1:]...) //nolint:gosec // which program runs is the suite's choice
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err = cmd.Run(); cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return files.StatusOf(err)
}

// join copies what comes from a program to the socket, and what comes back.
func join(from net.Conn) {
	defer from.Close() //nolint:errcheck // it may be closed
	to, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: relaySocket, Net: "unix"})
	if err != nil {
		return
	}
	defer to.Close() //nolint:errcheck // the same
	go func() {
		_, _ = io.Copy(to, from)
		_ = to.CloseWrite() // so that the proxy learns of a program that has gone
	}()
	_, _ = io.Copy(from, to)
}

// relayArgs are the arguments by which bubblewrap starts a command with a relay from an address to a socket: those that show what
// that needs, and from `--` on the words before the command's own.
func relayArgs(address, socket string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return []string{"--ro-bind", self, relayProgram, "--ro-bind", socket, relaySocket, "--", relayProgram, address}, nil
}
