package eval

// Booking is a call as the ledger books it before it is sent. Where limits are set, the run file has a line for each:
// whatever kills the process, the next one knows what may have been spent, and when. A call that took more tokens than were
// reserved has a second line of the same time, with the rest.
type Booking struct {
	At    string `json:"at"` // RFC 3339, UTC
	Model string `json:"model"`
	// Service is the name of the service that is called, "" for the unnamed one.
	Service string `json:"service,omitempty"`
	Tokens  int    `json:"tokens"` // that are reserved for the call
	// Local says that it is a run of a program on this machine, to which no rate applies.
	Local bool `json:"local,omitempty"`
	// Spent are the totals with this call and all others that are under way, at what is reserved for them.
	Spent Spent `json:"spent"`
}
