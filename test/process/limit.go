package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"sync"
	"time"
)

type score struct {
	Scorer string `json:"scorer"`
	Passed bool   `json:"passed"`
}

// trialLine is what is kept of a trial: what was sent, all that came back, and how it was scored.
type trialLine struct {
	Type     string          `json:"type"`
	N        int64           `json:"n"`
	Case     string          `json:"case"`
	Passed   bool            `json:"passed"`
	Scores   [3]score        `json:"scores"`
	Request  any             `json:"request"`
	Response json.RawMessage `json:"response"`
	Ended    time.Time       `json:"ended"`
}

// lineFile is a file of lines, each with its number and a checksum. A line is one write, so that a process that is killed
// loses none.
type lineFile struct {
	mutex sync.Mutex
	file  *os.File
	seq   int
}

func newLineFile(name string) (*lineFile, error) {
	f, err := os.Create(name)
	return &lineFile{file: f}, err
}

func (f *lineFile) close() error { return f.file.Close() }

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (f *lineFile) append(i int64, asked any, reply []byte, scores [3]score) error {
	line, err := json.Marshal(trialLine{"trial", i, fmt.Sprint("c", i), all(scores), scores, asked, reply, time.Now()})
	if err != nil {
		return err
	}
	f.mutex.Lock()
	defer f.mutex.Unlock()
	line = fmt.Appendf(line[:len(line)-1], `,"seq":%d`, f.seq)
	f.seq++
	line = fmt.Appendf(line, ",\"crc\":\"%08x\"}\n", crc32.Checksum(line, castagnoli))
	_, err = f.file.Write(line)
	return err
}
