package service

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"
)

// CheckBaseURL says what is wrong with a base URL, "" when nothing is.
func CheckBaseURL(raw string) string {
	if problem := CheckAddress(raw); problem != "" {
		return problem
	}
	u, err := url.Parse(raw)
	if err != nil { // it was parsed before
		return err.Error()
	}
	if version := path.Base(u.Path); slices.Contains(APIVersions, version) {
		return fmt.Sprintf("the base URL ends in /%s: leave the version out, it has a setting of its own", version)
	}
	return ""
}

// CheckAddress says what is wrong with the address of any service, "" when nothing is.
func CheckAddress(raw string) string {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https":
		return "the base URL must begin with https:// or http://"
	case u.Host == "":
		return "the base URL names no host"
	case u.User != nil:
		return "the base URL must not hold a user or a password"
	case u.RawQuery != "" || u.Fragment != "":
		return "the base URL must not hold a query or a fragment"
	}
	return ""
}

// PlainHTTP reports whether a base URL is unencrypted and leaves this machine.
func PlainHTTP(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" {
		return false
	}
	host := u.Hostname()
	addr, err := netip.ParseAddr(host)
	return host != "localhost" && (err != nil || !addr.IsLoopback())
}

// isScopeBase reports whether scopes may begin so.
func isScopeBase(base string) bool {
	u, err := url.Parse(base)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") &&
		u.Host != "" && u.RawQuery == "" && !strings.ContainsAny(base, " \"\\")
}

// CheckScopeBase says what is wrong with the prefix of scopes, "" when nothing is.
func CheckScopeBase(base string) string {
	if isScopeBase(base) {
		return ""
	}
	return fmt.Sprintf("%q is not the beginning of a scope's identifier, such as https://example.com", base)
}
