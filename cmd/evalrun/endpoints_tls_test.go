package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// issue makes a certificate and its key, as PEM. The first of them is the authority's own.
func (a *authority) issue(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	expect.OK(t, err)
	one := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if a.cert == nil {
		one.IsCA, a.cert, a.key = true, one, private
	}
	der, err := x509.CreateCertificate(rand.Reader, one, a.cert, &private.PublicKey, a.key)
	expect.OK(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	expect.OK(t, err)
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if one.IsCA {
		a.pem = cert
		if a.cert, err = x509.ParseCertificate(der); err != nil {
			t.Fatal(err)
		}
	}
	return cert, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// An endpoint that wants a certificate gets it, one that is not known is refused, and no run keeps a copy of a key.
func TestMutualTLSIsUsedWhereAnEndpointWantsIt(t *testing.T) {
	t.Parallel()
	evalrun := program(t)
	var ca authority
	ca.issue(t, "authority")
	serverCert, serverKey := ca.issue(t, "server")
	pair, err := tls.X509KeyPair(serverCert, serverKey)
	expect.OK(t, err)
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(ca.pem)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("hello " + r.TLS.PeerCertificates[0].Subject.CommonName))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: known, ClientAuth: tls.RequireAndVerifyClientCert}
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	defer server.Close()
	dir := t.TempDir()
	cert, key := ca.issue(t, "caller")
	write(t, dir, "tls/cert.pem", string(cert))
	write(t, dir, "tls/key.pem", string(key))
	write(t, dir, "tls/ca.pem", string(ca.pem))
	write(t, dir, "suite.yaml", strings.ReplaceAll(`version: 1
name: s
targets:
  - {name: both, http: {url: ADDRESS, body: "{{prompt}}", tls: {cert: tls/cert.pem, key: tls/key.pem, ca: tls/ca.pem}}}
  - {name: unknown, http: {url: ADDRESS, body: "{{prompt}}", tls: {cert: tls/cert.pem, key: tls/key.pem}}}
  - {name: nobody, http: {url: ADDRESS, body: "{{prompt}}", tls: {ca: tls/ca.pem}}}
prompts: [{name: p, text: hello}]
cases: [{name: c, scorers: [{equals: hello caller}]}]
`, "ADDRESS", server.URL))
	cmd := exec.Command(evalrun, "run", "suite.yaml", "--out", "run", "-o", "jsonl")
	cmd.Dir, cmd.Env = dir, []string{noNap, "HOME=" + dir}
	out, _ := cmd.CombinedOutput()
	for _, want := range []string{
		`"target":"both","prompt":"p","model":"","repeat":1,"threshold":null,"at":"suite.yaml:8:16"`, `"outcome":"pass"`,
		"certificate signed by unknown authority", "certificate required",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got %s, want %s", out, want)
		}
	}
	err = filepath.WalkDir(filepath.Join(dir, "run"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "PRIVATE KEY") {
			t.Errorf("got the key in %s, want it nowhere", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
