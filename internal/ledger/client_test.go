package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evalrun/evalrun/internal/testing/expect"
)

type replying func(body string) (status int, reply string)

func (r replying) RoundTrip(req *http.Request) (*http.Response, error) {
	body, _ := io.ReadAll(req.Body)
	status, text := r(string(body))
	return &http.Response{StatusCode: status, Body: io.NopCloser(bytes.NewReader([]byte(text))), Request: req}, nil
}

// A process that slept while its grant was on the way has it granted again: the ledger may have booked it as spent.
func TestAProcessThatSleptThrowsItsGrantAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := dial(t, Options{URL: "http://127.0.0.1:1"})
		var sent []string
		c.http.Transport = replying(func(body string) (int, string) {
			if body[0] == '{' {
				if sent = append(sent, body); len(sent) == 1 {
					time.Sleep(lifetime + time.Second)
				}
			}
			return 200, `{"granted":true}`
		})
		_, err := c.Grant(t.Context(), someModel, call(1))
		expect.OK(t, err)
		expect.Same(t, "requests", len(sent), 2)
		expect.Same(t, "the second request", sent[1], sent[0])
	})
}

// A process that slept during an outage gives the ledger its whole time again.
func TestAProcessThatSleptWaitsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lost notes
		c := dial(t, Options{URL: "http://127.0.0.1:1", Wait: 30 * time.Second, Lost: lost.add})
		requests := 0
		c.http.Transport = replying(func(body string) (int, string) {
			if body[0] != '[' { // a sign of life
				return 503, ""
			}
			switch requests++; requests {
			case 5:
				time.Sleep(time.Hour)
			case 8:
				return 200, `[{"tokens":true}]`
			}
			return 503, `{"error":"it cannot write"}`
		})
		_, err := c.Check(t.Context(), []ModelAccount{someModel})
		expect.OK(t, err)
		expect.Same(t, "lost", lost.String(), "")
	})
}

// A ledger that accepts connections and does not answer is away within 10 seconds. The wait for it is not longer than it may be.
func TestASilentLedgerIsAway(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // and accepts nothing: the system does
	expect.OK(t, err)
	defer l.Close()
	var said, lost notes
	c := dial(t, Options{URL: "http://" + l.Addr().String(), Wait: time.Second, Notice: said.add, Lost: lost.add})
	_, err = c.Grant(t.Context(), someModel, call(1))
	expect.Same(t, "a grant", errors.Is(err, errLost), true)
	want := fmt.Sprintf("does not answer: no answer within %s; nothing is sent until it does, for up to 1s", patience)
	expect.Contains(t, "said", said.String(), want)
	expect.Contains(t, "lost", lost.String(), "did not answer for 1s")
}
