package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
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
		NotAfter: time.Now().Add(time.Hour), DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, BasicConstraintsValid: true,
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

// serveMutualTLS serves with a certificate of an unknown authority, and requires a certificate of the same one.
func serveMutualTLS(t *testing.T, answer http.HandlerFunc) (*httptest.Server, *authority) {
	t.Helper()
	ca := &authority{}
	ca.issue(t, "authority")
	pair, err := tls.X509KeyPair(ca.issue(t, "server"))
	expect.OK(t, err)
	known := x509.NewCertPool()
	known.AppendCertsFromPEM(ca.pem)
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: known, ClientAuth: tls.RequireAndVerifyClientCert}
	server.Config.ErrorLog = quiet()
	server.StartTLS()
	t.Cleanup(server.Close)
	return server, ca
}

// An endpoint that wants a certificate gets it, one that is not known is refused, and no run keeps a copy of a key.
func TestMutualTLSIsUsedWhereAnEndpointWantsIt(t *testing.T) {
	t.Parallel()
	evalrun := program(t)
	server, ca := serveMutualTLS(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("hello " + r.TLS.PeerCertificates[0].Subject.CommonName))
	})
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
		"certificate signed by unknown authority", "certificate required", "CN=authority", "tls: {cert: FILE, key: FILE}",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("got %s, want %s", out, want)
		}
	}
	withoutPrivateKeys(t, filepath.Join(dir, "run"))
}

func withoutPrivateKeys(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
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

// A service with a private certificate is reached by `tls` alone, or by SSL_CERT_FILE. Without it, nothing is sent, and the
// message names the authority and both ways.
func TestServicesUseTheirCertificates(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	server, ca := serveMutualTLS(t, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.Header.Get("Authorization") != "Bearer key-of-one" {
			t.Errorf("got the authorization %q, want the key", r.Header.Get("Authorization"))
		}
		caller := r.TLS.PeerCertificates[0].Subject.CommonName
		_, _ = fmt.Fprintf(w, `{"choices": [{"message": {"content": "hello %s"}, "finish_reason": "stop"}]}`, caller)
	})
	cert, key := ca.issue(t, "caller")
	b := newBox(t, nil, map[string]string{
		"ca.pem": string(ca.pem), "cert.pem": string(cert), "own/key.pem": string(key), ".hidden.pem": string(ca.pem),
	})
	b.env = append(b.env, "ONE_API_KEY=key-of-one")
	suite := func(name, tls string) {
		b.write(name, strings.NewReplacer("NAME", "s"+path.Base(path.Dir(name)), "URL", server.URL, "TLS", tls).Replace(`version: 1
name: NAME
targets: [{name: t, service: one, model: m}]
prompts: [{name: p, text: hello}]
cases: [{name: c, scorers: [{equals: hello caller}]}]
services:
  one: {protocol: openai, baseUrl: "URL", keyEnv: ONE_API_KEY, metadata: false, TLS}
`))
	}
	const mine = "cert: cert.pem, key: own/key.pem"
	for _, test := range []struct {
		tls  string
		args string
		exit int
		says string
	}{
		{tls: "limits: {}", exit: 4, says: "certificate signed by unknown authority \"CN=authority\": name its PEM file in `tls: {ca: FILE}` " +
			"of the service or target, or in SSL_CERT_FILE"},
		{tls: "tls: {ca: ca.pem}", exit: 4, says: "name yours in `tls: {cert: FILE, key: FILE}`"},
		{tls: "tls: {" + mine + "}", exit: 4, says: "CN=authority"},
		{tls: "tls: {ca: ca.pm}", exit: 2, says: "suite.yaml:7:111: there is no file ca.pm in the suite's folder; did you mean `ca.pem`"},
		{tls: "tls: {ca: own/key.pem}", exit: 2, says: "own/key.pem holds no certificate"},
		{tls: "tls: {ca: ../ca.pem}", exit: 2, says: "../ca.pem cannot be read: it is outside of the suite's folder"},
		{tls: "tls: {cert: cert.pem}", exit: 2, says: "`cert` and `key` go together"},
		{tls: "tls: {cert: own/key.pem, key: cert.pem}", exit: 2, says: "own/key.pem and cert.pem are not a certificate and its key"},
		{tls: "tls: {key: own/key.pem, ca: ca.pem, certificate: cert.pem}", exit: 2, says: "did you mean `cert`"},
		{tls: "tls: {}", exit: 2, says: "`tls` needs cert and key, or ca"},
		{
			tls: "tls: {ca: ca.pem}", args: "--untrusted --allow services=127.0.0.1:ONE_API_KEY", exit: 2,
			says: "an untrusted suite cannot read ca.pem",
		},
		{
			tls: "tls: {ca: ca.pem}", args: "--untrusted --allow services=127.0.0.1:ONE_API_KEY --allow-file ca.pem", exit: 2,
			says: "an untrusted suite cannot say who vouches for the receiver of a key",
		},
		{
			tls: "tls: {cert: .hidden.pem, key: own/key.pem}", args: "--untrusted --allow services=127.0.0.1:ONE_API_KEY", exit: 2,
			says: "an untrusted suite cannot read .hidden.pem",
		},
	} {
		suite("suite.yaml", test.tls)
		b.exits(test.exit, append([]string{"run", "suite.yaml"}, strings.Fields(test.args)...)...)
		b.errs = strings.Join(strings.Fields(b.out+b.errs), " ")
		b.says(test.says)
	}
	expect.Same(t, "calls", calls.Load(), 0)
	suite("suite.yaml", "tls: {ca: ca.pem, "+mine+"}")
	b.exits(0, "run", "suite.yaml", "--out", "run")
	withoutPrivateKeys(t, b.path("run"))
	b.write("other/ca.pem", string(ca.pem)+string(cert))
	suite("other/suite.yaml", "tls: {ca: ca.pem}")
	b.exits(2, "run", "suite.yaml", "other/suite.yaml")
	b.says("differ in `tls` of the service `one`")
	suite("suite.yaml", "tls: {"+mine+"}")
	b.env = append(b.env, "SSL_CERT_FILE="+b.path("ca.pem"))
	b.exits(0, "run", "suite.yaml")
	expect.Same(t, "calls", calls.Load(), 2)
}
