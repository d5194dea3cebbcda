package eval

// Cause says why there is no answer or no score, where evalrun knows a command that helps. The zero Cause is none: the
// text alone says why.
type Cause string

// The causes; the words of the run file.
const (
	NothingAccepted Cause = "nothingAccepted" // a snapshot has no expected answer yet, and the answer may become it
	NeverCalled     Cause = "neverCalled"     // a judge that gets no requests has no reply on record
	UnreadByJQ      Cause = "unreadByJQ"      // an expression of the target does not fit the reply
)
