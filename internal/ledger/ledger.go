// Package ledger lets several processes share the limits of an account: the requests, tokens, calls and
// money that a service allows for a key. A process gets a grant before each call, and settles it after the
// call. Client does both for a process. Server has the accounts, and writes each grant to a file before it
// replies, so that no grant is lost if a process is killed.
//
// The usual order for a server: ReadLimits, Start, Server.URL, Server.Close. For a process: Dial,
// Client.Check, Client.Grant, Grant.Settle, Client.Close.
package ledger

import (
	"time"

	"github.com/evalrun/evalrun/internal/rates"
)

// ModelAccount is a key at a service and a model, to which limits apply. Several runs can share it.
type ModelAccount struct {
	Service Address `json:"service"`
	Key     string  `json:"key"` // fingerprint of the key; "" without a key
	Model   string  `json:"model"`
}

// String returns the account as messages name it.
func (a ModelAccount) String() string {
	if a.Key == "" {
		return "model " + a.Model + " at " + string(a.Service)
	}
	return "model " + a.Model + " at " + string(a.Service) + " with the key " + a.Key
}

type amount = rates.Amount

// Larger numbers cannot be true, and sums of smaller ones stay in range.
const (
	mostCount = 1 << 40
	mostMoney = 1e12
	mostPause = 24 * time.Hour
)

// isPossible reports whether calls can cost this: a negative cost would refill a budget.
func isPossible(a amount) bool {
	return a.Calls >= 0 && a.Calls <= mostCount && a.Tokens >= 0 && a.Tokens <= mostCount && a.Money >= 0 && a.Money <= mostMoney
}

type accountBalance struct {
	ModelAccount
	Granted amount `json:"granted"` // so far, at what was reserved
	Settled amount `json:"settled"` // of that, what is over, at its cost; a grant that expired counts at what was reserved
	Refused amount `json:"refused"` // what the budgets turned away
}

type grantRequest struct {
	ID      string       `json:"id"`    // chosen by the process; the same one gets the same grant again
	Owner   string       `json:"owner"` // the process
	Account ModelAccount `json:"account"`
	Cost    amount       `json:"cost"` // at most; no call and no tokens for metadata
}

func (a *grantRequest) isWhole() bool {
	return a.ID != "" && a.Owner != "" && isPossible(a.Cost)
}

type settlement struct {
	ID     string  `json:"id"`
	Tokens int     `json:"tokens"` // actual cost
	Money  float64 `json:"money"`
	// Unsent means that the call was not sent, so the grant does not count.
	Unsent bool `json:"unsent,omitempty"`
	// RetryAfter is how long the service wants no further calls of the account, in milliseconds.
	RetryAfter int64 `json:"retryAfterMs,omitempty"`
}

func (s *settlement) isWhole() bool {
	return s.ID != "" && isPossible(amount{Tokens: s.Tokens, Money: s.Money}) && s.RetryAfter >= 0 && s.RetryAfter <= mostPause.Milliseconds()
}

// CallTerms says what a process must know about a call before it is granted.
type CallTerms struct {
	Tokens bool `json:"tokens"` // tokens are limited, so the answer needs a bound
	Money  bool `json:"money"`  // money is limited, so the call needs a price
}

// Times of the protocol between client and server.
const (
	heartbeat = 5 * time.Second  // between signs of life of a process
	lifetime  = 20 * time.Second // a process that is silent for longer is dead
	longPoll  = 5 * time.Second  // a request for a grant waits up to this long
	slowDisk  = 4 * time.Second  // and then up to this long for the disk
	patience  = 10 * time.Second // a ledger that does not answer within this time is away
)

// elapsed is the time between two moments, with that in which the machine slept: the monotonic clock may stop then.
func elapsed(since, now time.Time) time.Duration {
	return max(now.Sub(since), now.Round(0).Sub(since.Round(0)))
}
