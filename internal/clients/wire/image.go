package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// Bounds of an image that is fetched.
const (
	maxImage     = 8 << 20
	imageTimeout = 30 * time.Second
)

// imageEndings are the types of images that suites take and that the bytes tell.
var imageEndings = map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp"}

// FetchImage gets an image and the ending of its file. Only the hosts that are named may have a private address: a
// configuration of others must not reach into the network of whoever imports it.
func FetchImage(ctx context.Context, address string, private []string) (data []byte, ending string, err error) {
	dial := func(ctx context.Context, network, to string) (net.Conn, error) {
		var d net.Dialer
		host, _, err := net.SplitHostPort(to)
		if err == nil && !slices.Contains(private, host) {
			d.ControlContext = func(_ context.Context, _, at string, _ syscall.RawConn) error { return public(at) }
		}
		return d.DialContext(ctx, network, to)
	}
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	transport := &http.Transport{DialContext: dial, TLSHandshakeTimeout: imageTimeout} // no proxy: it would reach what dial refuses
	defer transport.CloseIdleConnections()
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "" || at.User != nil {
		return nil, "", errors.New("it is not an address of https or http without a user")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, "", err
	}
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok {
			err = at.Err
		}
		return nil, "", err
	}
	defer answer.Body.Close() //nolint:errcheck // only read
	if answer.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("the server answers %d", answer.StatusCode)
	}
	if data, err = io.ReadAll(io.LimitReader(answer.Body, maxImage+1)); err != nil {
		return nil, "", err
	}
	ending, err = ImageEnding(data)
	return data, ending, err
}

// ImageEnding returns the ending of an image's file, by its first bytes.
func ImageEnding(data []byte) (string, error) {
	kind := http.DetectContentType(data)
	switch ending := imageEndings[kind]; {
	case len(data) > maxImage:
		return "", fmt.Errorf("it has more than %d MiB", maxImage>>20)
	case ending != "":
		return ending, nil
	}
	return "", fmt.Errorf("it is %s, and suites take png, jpeg and webp", kind)
}

// shared is the address space of providers (RFC 6598).
var shared = netip.MustParsePrefix("100.64.0.0/10")

func public(address string) error {
	at, err := netip.ParseAddrPort(address)
	if ip := at.Addr().Unmap(); err != nil || !ip.IsGlobalUnicast() || ip.IsPrivate() || shared.Contains(ip) {
		return errors.New("its host has a private address")
	}
	return nil
}
