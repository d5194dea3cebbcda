package history

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"hash/fnv"
	"math"
	"slices"

	"github.com/evalrun/evalrun/eval"
	"github.com/evalrun/evalrun/journal"
)

// A cell is one case on one arm of a run. There are many, and a row of SQLite costs more than anything else
// about a cell. So a row has many cells: those in one bucket, by a hash of the name of the case. Finding a
// case reads one bucket per run. A large run has several parts of each bucket, because it is never in
// memory as a whole.

// inBucket is the number of trials per bucket. mostBuckets bounds the buckets of a run.
const (
	inBucket    = 64
	mostBuckets = 8192
)

func bucketsFor(trials int) int { return min(trials/inBucket+1, mostBuckets) }

// hashOf returns the hash that selects the bucket of a case. It is not negative, because SQLite's % keeps
// the sign.
func hashOf(caseName string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(caseName)) // never fails
	return int64(h.Sum64() >> 1)     // 63 bits
}

type storedSums struct {
	place    int // of the case in the run
	caseName []byte
	journal.Sums
	metrics []cellMetric
}

type cellMetric struct {
	name int64 // in the table word
	eval.Sum
}

// appendCell encodes a cell. names has the numbers of metric names.
func appendCell(b []byte, place int, c *journal.CaseSums, names map[string]int64) []byte {
	b = appendInts(b, place, len(c.Case))
	b = append(b, c.Case...)
	b = appendInts(b, c.Counts.Pass, c.Counts.Fail, c.Counts.Error, c.Counts.Skip)
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(c.LatencyMs))
	b = appendInts(b, c.Tokens.Prompt, c.Tokens.Output, c.Tokens.Total, c.Metered, len(c.Metrics))
	for i := range c.Metrics {
		b = appendMetric(b, &c.Metrics[i], names)
	}
	return b
}

func appendMetric(b []byte, m *journal.MetricSum, names map[string]int64) []byte {
	b = binary.AppendUvarint(b, uint64(names[m.Name])) //nolint:gosec // row numbers
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(m.Total))
	return appendInts(b, m.N)
}

func appendInts(b []byte, all ...int) []byte {
	for _, n := range all {
		b = binary.AppendUvarint(b, uint64(n)) //nolint:gosec // counts
	}
	return b
}

// errCells is returned for cells that evalrun did not write.
var errCells = errors.New("the numbers of a case cannot be read")

// cellsIn yields the cells in a part of a bucket. Each is valid until the next one.
func cellsIn(data []byte, yield func(*storedSums)) error {
	r := cellReader{data: data}
	var c storedSums
	for len(r.data) > 0 {
		r.cell(&c)
		if r.bad {
			return errCells
		}
		yield(&c)
	}
	return nil
}

type cellReader struct {
	data []byte
	bad  bool
}

func (r *cellReader) cell(c *storedSums) {
	c.place = r.int()
	c.caseName = r.bytes(r.int())
	c.Counts = eval.Counts{Pass: r.int(), Fail: r.int(), Error: r.int(), Skip: r.int()}
	c.LatencyMs = r.float()
	c.Tokens = journal.Tokens{Prompt: r.int(), Output: r.int(), Total: r.int()}
	c.Metered = r.int()
	c.metrics = c.metrics[:0]
	for n := r.int(); n > 0 && !r.bad; n-- {
		c.metrics = append(c.metrics, r.metric())
	}
}

func (r *cellReader) metric() cellMetric {
	return cellMetric{int64(r.int()), eval.Sum{Total: r.float(), N: r.int()}}
}

func (r *cellReader) int() int {
	n, length := binary.Uvarint(r.data)
	if length <= 0 || n > math.MaxInt64 {
		r.bad, r.data = true, nil
		return 0
	}
	r.data = r.data[length:]
	return int(n) // checked above
}

func (r *cellReader) bytes(n int) []byte {
	if n > len(r.data) {
		r.bad, r.data = true, nil
		return nil
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *cellReader) float() float64 {
	b := r.bytes(8)
	if r.bad {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// mostWaiting bounds the cells in memory, in bytes.
const mostWaiting = 4 << 20

type cellBatch struct {
	run, buckets int64
	insert       *sql.Stmt
	waiting      map[bucket][]byte
	bytes        int
	part         int
	place        int
}

// bucket is one group of an arm's cases: cells of a bucket share rows of the table.
type bucket struct{ suite, arm, number int64 }

func newCellBatch(tx *sql.Tx, run int64, buckets int) (*cellBatch, error) {
	insert, err := tx.Prepare("INSERT INTO cells (run, suite, arm, bucket, part, data) VALUES (?,?,?,?,?,?)")
	return &cellBatch{run: run, buckets: int64(buckets), insert: insert, waiting: map[bucket][]byte{}}, err
}

// add inserts a cell, perhaps later.
func (b *cellBatch) add(suite, arm int64, c *journal.CaseSums, names map[string]int64) error {
	key := bucket{suite, arm, hashOf(c.Case) % b.buckets}
	was := b.waiting[key]
	is := appendCell(was, b.place, c, names)
	b.waiting[key] = is
	b.place++
	if b.bytes += len(is) - len(was); b.bytes < mostWaiting {
		return nil
	}
	return b.flush()
}

// flush inserts the waiting cells in the order of the primary key, which is fastest.
func (b *cellBatch) flush() error {
	keys := make([]bucket, 0, len(b.waiting))
	for key, data := range b.waiting {
		if len(data) > 0 {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(x, y bucket) int {
		return slices.Compare([]int64{x.suite, x.arm, x.number}, []int64{y.suite, y.arm, y.number})
	})
	for _, key := range keys {
		if _, err := b.insert.Exec(b.run, key.suite, key.arm, key.number, b.part, b.waiting[key]); err != nil {
			return err
		}
		b.waiting[key] = b.waiting[key][:0]
	}
	b.part, b.bytes = b.part+1, 0
	return nil
}

func (b *cellBatch) close() error { return errors.Join(b.flush(), b.insert.Close()) }
