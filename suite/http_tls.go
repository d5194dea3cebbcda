package suite

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"strings"

	"github.com/evalrun/evalrun/internal/yaml"
)

const maxPEM = 1 << 20

// tls reads the certificates of an endpoint; nil without any.
func (l *loader) tls(n yaml.Node) *tls.Config {
	m := n.Map(tlsBlock().Names()...)
	if n.IsZero() || !n.IsMapping() {
		return nil
	}
	out := &tls.Config{MinVersion: tls.VersionTLS12}
	cert, key := m.Get("cert"), m.Get("key")
	switch {
	case m.Len() == 0:
		n.Errorf("such as {ca: ca.pem}", "`tls` needs cert and key, or ca")
	case cert.IsZero() != key.IsZero():
		n.Errorf("give both, or none", "`cert` and `key` go together")
	case !cert.IsZero():
		l.certificate(out, cert, key)
	}
	if ca := m.Get("ca"); !ca.IsZero() {
		out.RootCAs = x509.NewCertPool()
		if text, ok := l.pem(ca); ok && !out.RootCAs.AppendCertsFromPEM(text) {
			ca.Errorf("a PEM file has lines such as -----BEGIN CERTIFICATE-----", "%s holds no certificate", ca.Str())
		}
	}
	return out
}

func (l *loader) certificate(to *tls.Config, cert, key yaml.Node) {
	public, ok := l.pem(cert)
	private, fine := l.pem(key)
	if !ok || !fine {
		return
	}
	pair, err := tls.X509KeyPair(public, private)
	if err != nil {
		why := strings.TrimPrefix(err.Error(), "tls: ")
		cert.Errorf("both are PEM files", "%s and %s are not a certificate and its key: %s", cert.Str(), key.Str(), why)
		return
	}
	to.Certificates = []tls.Certificate{pair}
}

// pem reads a file of the suite's folder. Unlike prompts, it does not become part of the suite: a run must not keep a copy
// of a key.
func (l *loader) pem(n yaml.Node) ([]byte, bool) {
	text, err := l.files.read(n.Str(), maxPEM)
	if err != nil {
		n.Errorf("", "%s", err)
	}
	return text, err == nil
}

// credentials returns the texts to hide of a header with credentials: the token after the scheme, and for Basic the
// password in it as well.
func credentials(value string) []string {
	out := []string{value}
	scheme, token, ok := strings.Cut(value, " ")
	if !ok {
		return out
	}
	out = append(out, token)
	if plain, err := base64.StdEncoding.DecodeString(token); err == nil && strings.EqualFold(scheme, "basic") {
		_, password, _ := strings.Cut(string(plain), ":")
		out = append(out, string(plain), password)
	}
	return out
}
