package proxy

import (
	"fmt"
	"net"
	"os"
	"strconv"
)

// Bind serves calls by a socket too, which it makes in a folder that lasts as long as the proxy, and returns the socket's path. Call it
// once.
func (p *Proxy) Bind(dir string) (socket string, err error) {
	in, err := os.Open(dir)
	if err != nil {
		return "", err
	}
	defer in.Close() //nolint:errcheck // it was read
	const name = "/socket"
	short := "/proc/self/fd/" + strconv.Itoa(int(in.Fd())) + name // the whole name may be too long for an address
	at, err := net.ListenUnix("unix", &net.UnixAddr{Name: short, Net: "unix"})
	if err != nil {
		return "", fmt.Errorf("no socket can be made for the calls of programs: %w", err)
	}
	at.SetUnlinkOnClose(false) // the name means something else by then
	go func() { _ = p.server.Serve(at) }()
	return dir + name, nil
}
