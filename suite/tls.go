package suite

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"slices"
	"strings"
	"sync"

	"github.com/evalrun/evalrun/internal/yaml"
)

var tlsBlock = sync.OnceValue(func() yaml.Block {
	return yaml.Block{Name: "tls", Keys: []yaml.Key{
		key("cert", yaml.Text, "The certificate that evalrun shows, for mutual TLS."),
		key("key", yaml.Text, "The private key of `cert`."),
		key("ca", yaml.Text, "The authorities that the other side's certificate may be from, instead of the system's."),
	}}
})

// tls reads the certificates for one other side; nil without any. The digest is that of all files.
func (l *loader) tls(n yaml.Node) (out *tls.Config, digest string) {
	m := n.Map(tlsBlock().Names()...)
	if n.IsZero() || !n.IsMapping() {
		return nil, ""
	}
	out = &tls.Config{MinVersion: tls.VersionTLS12}
	cert, key := m.Get("cert"), m.Get("key")
	switch {
	case m.Len() == 0:
		n.Errorf("such as {ca: ca.pem}", "`tls` needs cert and key, or ca")
	case cert.IsZero() != key.IsZero():
		n.Errorf("give both, or none", "`cert` and `key` go together")
	}
	public, private, authorities := l.pem(cert), l.pem(key), l.pem(m.Get("ca"))
	if public != nil && private != nil {
		pair, err := tls.X509KeyPair(public, private)
		if err != nil {
			why := strings.TrimPrefix(err.Error(), "tls: ")
			cert.Errorf("both are PEM files", "%s and %s are not a certificate and its key: %s", cert.Str(), key.Str(), why)
		}
		out.Certificates = []tls.Certificate{pair}
	}
	if authorities != nil {
		out.RootCAs = x509.NewCertPool()
		if ca := m.Get("ca"); !out.RootCAs.AppendCertsFromPEM(authorities) {
			ca.Errorf("a PEM file has lines such as -----BEGIN CERTIFICATE-----", "%s holds no certificate", ca.Str())
		}
	}
	sum := sha256.Sum256(slices.Concat(public, private, authorities))
	return out, hex.EncodeToString(sum[:])
}

const maxPEM = 1 << 20

// pem reads a file of the suite's folder; nil after a problem, and without a name. Unlike prompts, it does not become part
// of the suite: a run must not keep a copy of a key.
func (l *loader) pem(n yaml.Node) []byte {
	if n.IsZero() {
		return nil
	}
	var text []byte
	file, info, err := l.files.unshown(n.Str())
	if err == nil {
		text, err = readOpen(file, info, n.Str(), maxPEM)
	}
	if err != nil {
		n.Errorf("", "%s", err)
		return nil
	}
	return text
}
