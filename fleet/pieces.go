package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// pieceSize is the size in which texts longer than wholeSize are sent, in bytes. Every NATS server accepts messages of
// this size.
const (
	pieceSize = 512 << 10
	wholeSize = 64 << 10
)

// maxText bounds a text in pieces other than the pack, in bytes. A worker reads answers of 16 MiB, which JSON may write
// in twice the space.
const maxText = 64 << 20

// pieceTime bounds the wait for a piece, also when the other side is stopped for a while.
const pieceTime = time.Minute

// The first byte of a message: the text follows, or a parcel to fetch it with.
const (
	markWhole  = '='
	markPieces = '#'
)

// parcel identifies a text that is fetched in pieces.
type parcel struct {
	Name string `json:"name"`
	Size int    `json:"size"` // bytes of the text
	From int    `json:"from"` // offset of the piece
}

// shelf keeps long texts until the receiver has fetched them.
type shelf struct {
	mu    sync.Mutex
	last  int
	texts map[string][]byte
}

func newShelf() *shelf { return &shelf{texts: map[string][]byte{}} }

// pack makes a message of a text. It puts a long text on the shelf; forget removes it.
func (s *shelf) pack(text []byte) (message []byte, forget func()) {
	if len(text) < wholeSize {
		return append([]byte{markWhole}, text...), func() {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last++
	name := strconv.Itoa(s.last)
	s.texts[name] = text
	head, err := json.Marshal(parcel{Name: name, Size: len(text)})
	if err != nil {
		panic(err) // numbers and a word always encode
	}
	return append([]byte{markPieces}, head...), func() { s.forget(name) }
}

func (s *shelf) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.texts, name)
}

// keep puts a text on the shelf for good, under a given name.
func (s *shelf) keep(name string, text []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.texts[name] = text
}

// serve replies to a request for a piece. An empty reply means that the text is gone.
func (s *shelf) serve(m *nats.Msg) {
	var want parcel
	var piece []byte
	if json.Unmarshal(m.Data, &want) == nil {
		s.mu.Lock()
		if text := s.texts[want.Name]; want.From >= 0 && want.From < len(text) {
			piece = text[want.From:min(len(text), want.From+pieceSize)]
		}
		s.mu.Unlock()
	}
	_ = m.Respond(piece) // without a reply, the reader repeats its request
}

// errForeign means that a message is not as a fleet sends it.
var errForeign = errors.New("a message that is none of a fleet")

// unpack returns the text of a message. It fetches a long text from subject.
func unpack(ctx context.Context, conn *nats.Conn, subject string, message []byte) ([]byte, error) {
	switch {
	case len(message) == 0:
		return nil, errForeign
	case message[0] == markWhole:
		return message[1:], nil
	}
	var p parcel
	if err := json.Unmarshal(message[1:], &p); err != nil || p.Size < 0 || p.Size > maxText {
		return nil, fmt.Errorf("%w: %.40q", errForeign, message)
	}
	return fetch(ctx, conn, subject, p)
}

// fetch fetches a text piece by piece.
func fetch(ctx context.Context, conn *nats.Conn, subject string, p parcel) ([]byte, error) {
	var out bytes.Buffer
	for out.Len() < p.Size {
		p.From = out.Len()
		request, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		waiting, cancel := context.WithTimeout(ctx, pieceTime)
		m, err := conn.RequestWithContext(waiting, subject, request)
		cancel()
		if err != nil {
			return nil, err
		}
		if len(m.Data) == 0 || out.Len()+len(m.Data) > p.Size {
			return nil, fmt.Errorf("the text %s is not there any more", p.Name)
		}
		out.Write(m.Data)
	}
	return out.Bytes(), nil
}
