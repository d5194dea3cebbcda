package page

import (
	"bytes"
	"compress/flate"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/evalrun/evalrun/compare"
	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// Served provides the blocks of the HTML report to a server. It has the rows of the table in memory,
// compressed, and reads trials from the run file. It is not safe for concurrent use.
type Served struct {
	doc     *journal.Document
	around  surroundings
	tables  tables
	blocks  []servedBlock
	left    left
	images  map[string]servedImage // by hash
	rows    columns                // of the block that is being filled
	places  []journal.Place        // the same
	bytes   int                    // of their lines
	content TextCounts
	grown   int // blocks that were added by Grow
}

type servedBlock struct {
	places []journal.Place
	rows   []byte // compressed JSON
	until  []int  // lengths of the tables at its end
}

type servedImage struct {
	suite string
	image *eval.Image
}

// mostGrown bounds the small blocks, after which reading the run again is cheaper.
const mostGrown = 1000

const mostServedImages = 10_000

// NewServed reads a run once, in the order of the plan. The caller still owns the document, and closes it
// after the last use of Served.
func NewServed(d *journal.Document) (*Served, error) {
	s := &Served{doc: d, around: surroundingsOf(d), tables: newTables(), images: map[string]servedImage{}}
	room := roomForPasses(d)
	places := slices.Collect(d.Places())
	for len(places) > 0 {
		some := places[:together(places)]
		places = places[len(some):]
		results, err := readTogether(d, some)
		if err != nil {
			return nil, err
		}
		for i, r := range results {
			if room.leaves(r) {
				s.left.Passes++
				continue
			}
			if err := s.add(r, some[i]); err != nil {
				return nil, err
			}
		}
	}
	return s, s.flush()
}

// Bounds of the trials that are read together.
const (
	mostTogether  = 1000
	bytesTogether = 8 << 20
)

// together returns how many trials to read at once, at least one.
func together(places []journal.Place) int {
	n, bytes := 0, 0
	for n < len(places) && n < mostTogether && (n == 0 || bytes < bytesTogether) {
		bytes += places[n].Bytes()
		n++
	}
	return n
}

// readTogether decodes on all processors, because decoding takes most of the time that a reader waits.
func readTogether(d *journal.Document, places []journal.Place) ([]*eval.Result, error) {
	results, failed := make([]*eval.Result, len(places)), make([]error, len(places))
	var next atomic.Int64
	var reading sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		reading.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(places); i = int(next.Add(1)) - 1 {
				results[i], failed[i] = d.At(places[i])
			}
		})
	}
	reading.Wait()
	return results, errors.Join(failed...)
}

// Grow adds what journal.Document.Follow found, in new blocks.
func (s *Served) Grow(fresh []journal.Place) error {
	for _, at := range fresh {
		r, err := s.doc.At(at)
		if err != nil {
			return err
		}
		if err := s.add(r, at); err != nil {
			return err
		}
	}
	before := len(s.blocks)
	err := s.flush()
	s.grown += len(s.blocks) - before
	return err
}

// Blocks returns the number of blocks so far. Blocks never change.
func (s *Served) Blocks() int { return len(s.blocks) }

// Scattered reports whether there are more than mostGrown small blocks, so that reading the run again is
// cheaper.
func (s *Served) Scattered() bool { return s.grown > mostGrown }

func (s *Served) add(r *eval.Result, at journal.Place) error {
	s.remember(r)
	s.content.add(r)
	s.rows.add(&s.tables, r, s.around)
	s.rows.N = append(s.rows.N, r.N)
	s.places = append(s.places, at)
	s.bytes += at.Bytes()
	if s.left.Texts += cutTexts(r, mostText); len(s.places) == blockTrials || s.bytes > blockBytes {
		return s.flush()
	}
	return nil
}

// remember records where the images of a request are.
func (s *Served) remember(r *eval.Result) {
	for img := range images(r.Request) {
		if !slices.Contains(imageTypes, img.MIMEType) {
			continue
		}
		hash := hexOnly(img.SHA256)
		if _, known := s.images[hash]; !known && hash == img.SHA256 && len(s.images) < mostServedImages {
			s.images[hash] = servedImage{r.Suite, img}
		}
	}
}

func (s *Served) flush() error {
	if len(s.places) == 0 {
		return nil
	}
	rows, err := json.Marshal(&s.rows)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	z, err := flate.NewWriter(&b, flate.BestSpeed)
	if err != nil {
		return err
	}
	_, _ = z.Write(rows) // a bytes.Buffer never fails
	_ = z.Close()
	s.blocks = append(s.blocks, servedBlock{slices.Clip(s.places), bytes.Clone(b.Bytes()), s.tables.lengths()})
	s.rows, s.places, s.bytes = columns{}, nil, 0
	return nil
}

// ErrNoBlock is returned when there is no block of that name.
var ErrNoBlock = errors.New("there is no such block")

// Block returns a block as JSON. Its name is head, index, points, rows/N, trials/N or image/HASH.
func (s *Served) Block(name string) ([]byte, error) {
	switch name {
	case "head":
		return Head(s.doc)
	case "index":
		return s.index()
	case pointsName:
		return PointsBlock(s.doc.Comparison())
	}
	kind, of, _ := strings.Cut(name, "/")
	if kind == "image" {
		return s.image(of)
	}
	b := s.numbered(of)
	switch {
	case b == nil:
		return nil, ErrNoBlock
	case kind == "rows":
		return io.ReadAll(flate.NewReader(bytes.NewReader(b.rows)))
	case kind == "trials":
		return s.trials(b)
	}
	return nil, ErrNoBlock
}

// numbered returns a block of trials, nil for an invalid number. It accepts one spelling of each number.
func (s *Served) numbered(text string) *servedBlock {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n >= len(s.blocks) || text != strconv.Itoa(n) {
		return nil
	}
	return &s.blocks[n]
}

func (s *Served) index() ([]byte, error) {
	sizes := []int{}
	for _, b := range s.blocks {
		sizes = append(sizes, len(b.places))
	}
	return json.Marshal(blockIndex{sizes, s.tables, s.left})
}

// Head returns the head block of a run whose gate was applied. It needs no trials.
func Head(d *journal.Document) ([]byte, error) { return json.Marshal(newHead(d)) }

// ComparedHead returns the head block of a run whose gate was applied, with a comparison other than the gate's. The
// document keeps its own.
func ComparedHead(d *journal.Document, c *compare.Comparison) ([]byte, error) {
	with, decision := *d, *d.Decision
	decision.Comparison, decision.NotCompared, decision.Standings = c, false, nil
	with.Decision = &decision
	h := newHead(&with)
	h.OtherBaseline = true
	return json.Marshal(h)
}

// Names lists all blocks so far, images last. An image file may be gone when its block is read.
func (s *Served) Names() []string {
	names := []string{"head", "index"}
	if hasPoints(s.doc.Comparison()) {
		names = append(names, pointsName)
	}
	for i := range s.blocks {
		names = append(names, fmt.Sprintf("rows/%d", i), fmt.Sprintf("trials/%d", i))
	}
	for _, hash := range slices.Sorted(maps.Keys(s.images)) {
		names = append(names, "image/"+hash)
	}
	return names
}

// Content counts the trials whose texts are in the blocks, complete or cut.
func (s *Served) Content() TextCounts {
	c := s.content
	if !s.doc.Run.Options().NoContent {
		c.Images = len(s.images)
	}
	return c
}

// TextCounts counts texts from data or models.
type TextCounts struct {
	Prompts int // trials with a prompt
	Answers int // trials with an answer
	Replies int // of judges
	Images  int // files of prompts
}

func (c *TextCounts) add(r *eval.Result) {
	if r.Request != nil && slices.ContainsFunc(r.Request.Contents, hasText) {
		c.Prompts++
	}
	answered := func(one eval.Candidate) bool { return one.Text != "" || len(one.Raw) > 0 }
	if r.Response != nil && slices.ContainsFunc(r.Response.Candidates, answered) {
		c.Answers++
	}
	for i := range r.Judgements {
		if r.Judgements[i].Reply != "" {
			c.Replies++
		}
	}
}

// hasText reports whether a message of a prompt was recorded.
func hasText(c eval.Content) bool {
	return slices.ContainsFunc(c.Parts, func(p eval.Part) bool {
		switch p := p.(type) {
		case eval.TextPart:
			return p.Text != ""
		case eval.RawPart:
			return len(p.Raw) > 0
		case eval.ResultPart:
			return true
		case eval.ImagePart, eval.DataPart:
		}
		return false
	})
}

// News returns the difference that a page needs for block n if it has all blocks before: its rows, and the
// new lists of the tables.
func (s *Served) News(n int) ([]byte, error) {
	rows, err := s.Block(fmt.Sprintf("rows/%d", n))
	if err != nil {
		return nil, err
	}
	from := make([]int, len(s.tables.all()))
	if n > 0 {
		from = s.blocks[n-1].until
	}
	lists := map[string][][]string{}
	for i, name := range facets {
		lists[name] = append([][]string{}, s.tables.all()[i].lists[from[i]:s.blocks[n].until[i]]...)
	}
	return json.Marshal(map[string]any{"rows": json.RawMessage(rows), "lists": lists})
}

func (s *Served) trials(b *servedBlock) ([]byte, error) {
	out := []byte{'['}
	for i, at := range b.places {
		data, err := s.doc.Line(at)
		if err == nil && !fits(data, mostText) {
			var r eval.Result
			if err = r.UnmarshalJSON(data); err == nil {
				cutTexts(&r, mostText)
				data, err = r.AppendJSON(nil)
			}
		}
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, data...)
	}
	return append(out, ']'), nil
}

// image reads an image of a trial, as a data: URL.
func (s *Served) image(hash string) ([]byte, error) {
	found, ok := s.images[hash]
	if !ok || s.doc.Run.Options().NoContent {
		return nil, ErrNoBlock
	}
	data, err := s.doc.Image(found.suite, found.image, mostImage)
	if err != nil {
		return nil, ErrNoBlock
	}
	return json.Marshal(address(found.image, data))
}
