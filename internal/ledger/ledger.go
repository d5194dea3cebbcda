// Package ledger lets several processes share the limits of an account: the requests, tokens, calls and money that a
// service allows for a key. A process has each call granted before it sends it, and settles the grant when the call is
// over. A Client does both for its process. A Server holds the accounts for all of them, and writes every grant to a
// file before it answers. So nothing that was granted is forgotten, whatever is killed.
//
// The usual order for a server: ReadLimits, Start, Server.URL, Server.Close. For a process: Dial, Client.Check,
// Client.Grant, Grant.Settle, Client.Close.
package ledger

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// ModelAccount is a key at a service, and a model: limits apply to it. It does not depend on the run, so several runs share it.
type ModelAccount struct {
	Service string `json:"service"` // its address
	Key     string `json:"key"`     // the fingerprint of the key; "" without one
	Model   string `json:"model"`
}

// String is the account for people.
func (a ModelAccount) String() string {
	if a.Key == "" {
		return "model " + a.Model + " at " + a.Service
	}
	return "model " + a.Model + " at " + a.Service + " with the key " + a.Key
}

// Fingerprint stands for a key where the key itself must not show: the beginning of an HMAC (RFC 2104, with SHA-256)
// under that key. Everyone who has the key computes the same, and the key cannot be computed from it. It is "" without
// a key.
func Fingerprint(key string) string {
	if key == "" {
		return ""
	}
	sum := hmac.New(sha256.New, []byte(key))
	sum.Write([]byte("evalrun ledger"))
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

// Amount is the cost of calls.
type Amount struct {
	Calls  int     `json:"calls"` // HTTP attempts, except those for metadata
	Tokens int     `json:"tokens"`
	Money  float64 `json:"money"` // in the currency of the price lists
}

func (a *Amount) add(b Amount) {
	a.Calls += b.Calls
	a.Tokens += b.Tokens
	a.Money += b.Money
}

func (a *Amount) sub(b Amount) {
	a.Calls -= b.Calls
	a.Tokens -= b.Tokens
	a.Money -= b.Money
}

// Balance is the state of an account.
type Balance struct {
	ModelAccount
	Granted Amount `json:"granted"` // so far, at what was reserved
	Settled Amount `json:"settled"` // of that, what is over, at its cost; a grant that expired counts at what was reserved
	Refused Amount `json:"refused"` // what the budgets turned away
}

// GrantRequest is a request for a grant.
type GrantRequest struct {
	ID      string       `json:"id"`    // chosen by the process; the same one gets the same grant again
	Owner   string       `json:"owner"` // the process
	Account ModelAccount `json:"account"`
	Cost    Amount       `json:"cost"` // at most; no call and no tokens for metadata
}

func (a *GrantRequest) isWhole() bool {
	return a.ID != "" && a.Owner != "" && a.Cost.Calls >= 0 && a.Cost.Tokens >= 0 && a.Cost.Money >= 0
}

// Settlement is the end of a grant.
type Settlement struct {
	ID     string  `json:"id"`
	Tokens int     `json:"tokens"` // that the call has cost
	Money  float64 `json:"money"`
	// Unsent says that the call was not made: the grant is given back as if it had never been.
	Unsent bool `json:"unsent,omitempty"`
	// RetryAfter is how long the service wants no further calls of the account, in milliseconds.
	RetryAfter int64 `json:"retryAfterMs,omitempty"`
}

// CallTerms say what a process has to know of a call to get it granted.
type CallTerms struct {
	Tokens bool `json:"tokens"` // tokens are limited: an answer must have a bound
	Money  bool `json:"money"`  // money is limited: there must be a price
}

// The times of the protocol between a client and a server.
const (
	heartbeat = 5 * time.Second  // a process shows this often that it lives
	lifetime  = 20 * time.Second // a process that is silent for longer has died
	longPoll  = 75 * time.Second // a request for a grant waits up to this long
)
