package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// vendor is what libraries of a protocol send and read.
type vendor struct {
	service, address, key string // with the variables of both
	base, path, body      string
}

var vendors = map[string]vendor{
	"chat completions": {"openai", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1", "/chat/completions", `{"model":"m","stream":%t}`},
	"Responses":        {"openai", "OPENAI_BASE_URL", "OPENAI_API_KEY", "/v1", "/responses", `{"model":"m","stream":%t}`},
	"messages":         {"anthropic", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "", "/v1/messages", `{"model":"m","stream":%t}`},
	"google":           {"google", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY", "", "/v1beta/models/m:%s", `{"stream":%t}`},
}

func (v vendor) pathOf(stream bool) string {
	if !strings.Contains(v.path, "%s") {
		return v.path
	}
	return fmt.Sprintf(v.path, map[bool]string{true: "streamGenerateContent?alt=sse", false: "generateContent"}[stream])
}

// copyBytes is the program to which the proxy is compared. It reads none of the bytes, and prints its address.
func copyBytes(args []string) error {
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + at.Addr().String())
	for {
		from, err := at.Accept()
		if err != nil {
			return err
		}
		to, err := net.Dial("tcp", args[0]) //nolint:gosec // the benchmark's own server
		if err != nil {
			return err
		}
		between := func(a, b net.Conn) { // without splice, as a proxy that looks at bytes has to
			_, _ = io.CopyBuffer(struct{ io.Writer }{a}, struct{ io.Reader }{b}, make([]byte, 32<<10))
			_ = a.Close()
		}
		go between(from, to)
		go between(to, from)
	}
}

// passOn is what net/http takes that passes on what comes and reads none of it, with the buffers and the garbage that evalrun allows
// itself. It prints its address.
func passOn(args []string) error {
	debug.SetGCPercent(300)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ReadBufferSize = 16 << 10
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("http://" + at.Addr().String())
	to := &url.URL{Scheme: "http", Host: args[0]}
	forward := httputil.ReverseProxy{Transport: transport, BufferPool: &spare{}, Rewrite: func(r *httputil.ProxyRequest) {
		body, _ := io.ReadAll(r.In.Body) // as evalrun has to, which counts before it sends
		r.Out.Body = io.NopCloser(bytes.NewReader(body))
		r.SetURL(to)
	}}
	return http.Serve(at, &forward) //nolint:gosec // on this machine
}

// spare are buffers that are used again.
type spare struct{ sync.Pool }

// Get implements httputil.BufferPool.
func (s *spare) Get() []byte {
	if one, ok := s.Pool.Get().(*[32 << 10]byte); ok {
		return one[:]
	}
	return make([]byte, 32<<10)
}

// Put implements httputil.BufferPool.
func (s *spare) Put(p []byte) { s.Pool.Put((*[32 << 10]byte)(p)) }

// paceHeader has the server pause between chunks.
const paceHeader = "Pace"

// calls makes calls one after another, and writes down what the process between took meanwhile: the parent if none is named.
func calls(args []string) error {
	set := flag.NewFlagSet("calls", flag.ContinueOnError)
	to, at := set.String("vendor", "", "the protocol"), set.String("url", "", "the address; none is that in the variable")
	n, stream, pid := set.Int("n", 1, "how many"), set.Bool("stream", false, "streamed"), set.Int("of", os.Getppid(), "the process between")
	pace := set.Duration("pace", 0, "between chunks")
	if err := set.Parse(args); err != nil {
		return err
	}
	v := vendors[*to]
	address := cmp.Or(*at, os.Getenv(v.address)) + v.pathOf(*stream)
	call := func() error {
		body := strings.NewReader(fmt.Sprintf(v.body, *stream))
		req, err := http.NewRequest(http.MethodPost, address, body) //nolint:gosec // the benchmark's own server
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+os.Getenv(v.key))
		req.Header.Set(paceHeader, pace.String())
		resp, err := http.DefaultClient.Do(req) //nolint:gosec // the same
		if err != nil {
			return err
		}
		defer resp.Body.Close() //nolint:errcheck // it was only read
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
			return errors.Join(err, errors.New(resp.Status))
		}
		return nil
	}
	var began time.Time
	var before time.Duration
	for i := range *n + *n/5 { // the first fifth warms up
		if i == *n/5 {
			began, before = time.Now(), busy(*pid)
		}
		if err := call(); err != nil {
			return err
		}
	}
	took := fmt.Append(nil, int64(time.Since(began)), int64(busy(*pid)-before), peak(*pid))
	return os.WriteFile(os.Getenv("PROCESS_CALLS"), took, 0o600) //nolint:gosec // a file of the benchmark
}

// busy is how long the threads of a process ran, to the nanosecond.
func busy(pid int) (sum time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, one := range threads {
		var ran int64
		data, _ := os.ReadFile(one)
		_, _ = fmt.Sscan(string(data), &ran) // a thread that ended ran no more
		sum += time.Duration(ran)
	}
	return sum
}

// peak is the most memory of a process, in bytes.
func peak(pid int) int64 {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := bytes.Cut(data, []byte("VmHWM:"))
	var kB int64
	_, _ = fmt.Sscan(string(rest), &kB)
	return kB << 10
}

// A way is how answers come.
type way struct {
	name   string
	calls  int
	stream bool
	pace   time.Duration // between chunks
}

var ways = []way{{name: "", calls: 2_000}, {", in a burst", 500, true, 0}, {", one by one", 10, true, 200 * time.Microsecond}}

// proxied measures calls of each protocol, streamed and not.
func proxied(args []string) error {
	set := flag.NewFlagSet("proxied", flag.ContinueOnError)
	program, rounds := set.String("evalrun", "bin/evalrun", "the program"), set.Int("rounds", 5, "how often each process runs")
	if err := set.Parse(args); err != nil {
		return err
	}
	b, err := newBench(*program, "", *rounds)
	if err != nil {
		return err
	}
	defer b.close()
	for _, name := range slices.Sorted(maps.Keys(vendors)) {
		for _, how := range ways {
			f, err := b.proxied(name, how)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			fmt.Println(f)
		}
	}
	return nil
}

func (b *bench) proxied(name string, how way) (figure, error) {
	f, v := figure{Name: name + how.name, other: "copier"}, vendors[name]
	at, err := b.server(0)
	if err != nil {
		return f, err
	}
	copier, err := b.start("copy", strings.TrimPrefix(at, "http://"))
	if err != nil {
		return f, err
	}
	defer copier.stop()
	limit, err := b.start("pass", strings.TrimPrefix(at, "http://"))
	if err != nil {
		return f, err
	}
	defer limit.stop()
	config, protocol := filepath.Join(b.dir, "evalrun.yaml"), v.service
	if protocol == "google" {
		protocol = "generative"
	}
	if err := os.WriteFile(config, fmt.Appendf(nil, "suites: [.]\nservices: {%s: {protocol: %s, baseUrl: %q, keyEnv: EVALRUN_API_KEY}}\n",
		v.service, protocol, at+v.base), 0o600); err != nil {
		return f, err
	}
	client := []string{
		b.self, "calls", "-vendor", name, "-n", strconv.Itoa(how.calls), "-stream=" + strconv.FormatBool(how.stream), "-pace", how.pace.String(),
	}
	by := func(s *server) func() (cost, error) {
		return func() (cost, error) {
			return b.between(slices.Concat(client, []string{"-url", s.url + v.base, "-of", strconv.Itoa(s.cmd.Process.Pid)}))
		}
	}
	medians, err := inTurn(0, b.rounds, []func() (cost, error){
		func() (cost, error) {
			return b.between(slices.Concat([]string{b.program, "proxy", "--config", config, "--models", v.service, "--"}, client))
		},
		by(copier), by(limit),
	})
	if err == nil {
		f.Evalrun, f.Loop, f.Limit = medians[0], medians[1], medians[2]
	}
	return f, err
}

// between runs a command that ends in calls, and returns what they wrote down.
func (b *bench) between(command []string) (c cost, err error) {
	file := filepath.Join(b.dir, "calls")
	env := []string{"EVALRUN_API_KEY=sk-of-the-benchmark", "PROCESS_CALLS=" + file}
	if _, err = timed(b.dir, env, command); err != nil {
		return c, err
	}
	data, err := os.ReadFile(file)
	if err == nil {
		_, err = fmt.Sscan(string(data), (*int64)(&c.Wall), (*int64)(&c.CPU), &c.Memory)
	}
	return c, err
}

// chunks are the texts that a streamed answer has.
const chunks = 300

// events are a streamed answer in the protocol that a path belongs to, as vendors send it: with padding and numbers in every chunk.
func events(path string) (all []string) {
	begin, end := ":", `data: {"candidates": [{"finishReason": "STOP"}]}`
	each := `data: {"candidates": [{"content": {"parts": [{"text": " wordNUM"}],"role": "model"},"index": 0}],"usageMetadata": ` +
		`{"promptTokenCount": 9,"candidatesTokenCount": NUM,"totalTokenCount": NUM},"modelVersion": "m","responseId": "r"}`
	switch {
	case strings.HasSuffix(path, "/chat/completions"):
		const head = `data: {"id":"chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT","object":"chat.completion.chunk","created":1741569952,"model":"m",` +
			`"service_tier":"default","system_fingerprint":"fp_44709d6fcb","choices":[{"index":0,`
		each = head + `"delta":{"content":" wordNUM"},"logprobs":null,"finish_reason":null}],"obfuscation":"PAD"}`
		end = head + `"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":9}}` + "\n\ndata: [DONE]"
	case strings.HasSuffix(path, "/responses"):
		each = "event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","sequence_number":NUM,` +
			`"item_id":"msg_02f969f744182c5c0169558925f28c8197bc83bfc8edba7457","output_index":0,"content_index":0,"delta":" wordNUM",` +
			`"logprobs":[],"obfuscation":"PAD"}`
		end = `data: {"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":9,"output_tokens":9}}}`
	case strings.HasSuffix(path, "/messages"):
		begin = `data: {"type":"message_start","message":{"role":"assistant","content":[],"usage":{"input_tokens":9}}}`
		each = "event: content_block_delta\n" +
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" wordNUM"}BLANKS}`
		end = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":9}}`
	}
	all = append(all, begin)
	for i := range chunks {
		n := i * 7 % 16 // of padding
		now := strings.NewReplacer("NUM", strconv.Itoa(i), "PAD", "aBcDeFgHiJkLmNoP"[:n], "BLANKS", strings.Repeat(" ", n))
		all = append(all, now.Replace(each))
	}
	return append(all, end)
}
