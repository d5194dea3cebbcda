package wire

import "github.com/evalrun/evalrun/eval"

// StreamEnd finds a second reply in the stream of an answer. Some servers send a finish reason with every piece. So text
// after one is a second reply only if the stream also has text without one, or repeats itself.
type StreamEnd struct {
	open  bool  // some text came without a finish reason
	ended bool  // there was a finish reason
	ends  []int // lengths of the text where it may have ended
}

// Add notes a piece: whether it says something, and whether it has a finish reason. length is that of the text with it.
func (e *StreamEnd) Add(says, ends bool, length int) error {
	if says && e.ended && (e.open || !ends) {
		return SecondReply()
	}
	e.open = e.open || says && !ends
	if ends {
		e.ended = true
		e.ends = append(e.ends, length)
	}
	return nil
}

// Suspect notes that the answer may have ended at a length, without a finish reason.
func (e *StreamEnd) Suspect(length int) {
	e.ends = append(e.ends, length)
}

// Check returns an error for a text that repeats what it was where it may have ended.
func (e *StreamEnd) Check(text string) error {
	for _, end := range e.ends {
		if end > 0 && end < len(text) && len(text)%end == 0 && text[end:] == text[:len(text)-end] {
			return SecondReply()
		}
	}
	return nil
}

// SecondReply returns the error for a stream with more than one reply.
func SecondReply() error {
	return eval.Errorf(eval.KindMalformed, "the stream has more text after the end of its answer: a second reply, or the same again")
}
