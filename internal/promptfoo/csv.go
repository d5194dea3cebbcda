package promptfoo

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/yaml"
)

// testTable is a file with one test per row.
type testTable struct {
	name   string // of the file
	header []string
	rows   [][]string
	lost   map[int]string  // why rows have no score
	around map[string]bool // variables of the defaults
}

func magic(column string) bool { return strings.HasPrefix(column, "__") }

func (c *converter) csvTests(s src, name string) {
	t, err := c.table(name)
	if err != nil {
		c.loseTests(s, name, err.Error())
		return
	}
	rows, columns := c.convertTable(t)
	block := new(mapping).set("dataset", textValue(c.dataFile(t, rows, columns)))
	if slices.Contains(columns, nameColumn) {
		block.set("name", textValue("{{."+nameColumn+"}}"))
	}
	for _, of := range [][2]string{{tagColumn, "tags"}, {thresholdColumn, "threshold"}} {
		if slices.Contains(columns, of[0]) {
			block.set(of[1], textValue("{{."+of[0]+"}}"))
		}
	}
	if slices.Contains(columns, scorersColumn) {
		block.set("scorerColumn", textValue(scorersColumn))
	} else if c.defaults.scorers.empty() {
		scorers := &sequence{}
		anyAnswer(scorers)
		block.set("scorers", scorers)
	}
	c.sets = append(c.sets, block)
}

// Additional columns of an imported table.
const (
	nameColumn      = "case_name"
	tagColumn       = "case_tags"
	thresholdColumn = "case_threshold"
	scorersColumn   = "case_scorers"
)

func (c *converter) table(name string) (*testTable, error) {
	_, data, err := c.source.readText(name)
	if err != nil {
		return nil, err
	}
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	r.LazyQuotes, r.FieldsPerRecord, r.TrimLeadingSpace = true, -1, false
	if path.Ext(name) == ".tsv" {
		r.Comma = '\t'
	}
	all, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read as a table: %w", name, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no line with the names of its columns", name)
	}
	t := &testTable{name: name, header: all[0], rows: all[1:], lost: map[int]string{}}
	if err := c.fillFiles(t); err != nil {
		return nil, err
	}
	for i := range t.header {
		t.header[i] = strings.TrimSpace(t.header[i])
	}
	return t, nil
}

// fillFiles puts the texts of files in the place of cells that name them.
func (c *converter) fillFiles(t *testTable) error {
	for i, row := range t.rows {
		for j, cell := range row {
			if j >= len(t.header) || magic(strings.TrimSpace(t.header[j])) || !strings.HasPrefix(cell, "file://") {
				continue
			}
			var problems diagList
			n, ok := yaml.Parse(t.name, []byte(strconv.Quote(cell)), &problems)
			at := src{n, "cell", t.name, newFates(c.fates.secrets)}
			if row[j] = c.fileText(at, cell); !ok || at.why() != nil {
				return fmt.Errorf("row %d: %s", i+1, cmp.Or(at.note(), cell))
			}
		}
	}
	return nil
}

// convertTable returns rows of variables, with columns for names and scorers.
func (c *converter) convertTable(t *testTable) (rows [][]string, columns []string) {
	has := map[string]bool{}
	for _, h := range t.header {
		if !magic(h) && !has[h] { // of two columns with one name, promptfoo uses the last, and so does cells
			columns = append(columns, h)
			has[h], c.texts[h] = true, true
		}
	}
	ofDefaults, all := textsOf(c.defaults.vars.entries)
	t.around = all
	for _, name := range slices.Sorted(maps.Keys(ofDefaults)) {
		if !has[name] && simple.regexp().MatchString(ofDefaults[name]) { // what it becomes may differ from row to row
			columns = append(columns, name)
		}
	}
	c.columns, c.tables = append(c.columns, has), append(c.tables, has)
	extra := c.extraColumns(t, c.mayLose(t, has, ofDefaults))
	columns = append(columns, extra...)
	for i, row := range t.rows {
		cells := maps.Clone(ofDefaults)
		for j, h := range t.header {
			if j < len(row) {
				cells[h] = row[j]
				c.json[h] = c.json[h] || looksJSON(row[j])
				if !magic(h) {
					c.fates.secrets.keep("the column "+h+" of "+t.name, row[j])
				}
			}
		}
		if strings.TrimSpace(cells["__providerOutput"]) != "" {
			t.lost[i] = testTODO["providerOutput"]
		}
		var out []string
		for _, h := range columns {
			cell := c.cell(t, i, cells, h)
			if !slices.Contains(extra, h) {
				cell = c.filledCell(t, i, h, filled(h, cell, cells), cells)
			}
			out = append(out, cell)
		}
		rows = append(rows, out)
	}
	return rows, columns
}

// beyondNames reports whether a template has more than names of variables.
func beyondNames(text string) bool { return anyTag.matches(simple.regexp().ReplaceAllString(text, "")) }

// filledCell renders a cell that has more than names of variables. Where it cannot, the row is unscored; so it is with the name of what
// is not one text.
func (c *converter) filledCell(t *testTable, row int, column, text string, cells map[string]string) string {
	if why := c.notText(text, cells, t.around); why != "" {
		t.lost[row] = "the column `" + diag.CleanLine(column) + "` " + why
	}
	if !beyondNames(text) {
		return text
	}
	at := src{c.top.Node, column, t.name, newFates(&secrets{})} // the node stands for the cell: one that is zero has no fate
	out := c.nested(at, text, cells)
	if at.why() != nil {
		t.lost[row] = "the column `" + diag.CleanLine(column) + "`: " + at.note()
	}
	return out
}

// extraColumns returns the columns that replace magic columns, and reports what became of those.
func (c *converter) extraColumns(t *testTable, mayLose bool) (out []string) {
	add := func(column string) {
		if !slices.Contains(out, column) {
			out = append(out, column)
		}
	}
	for _, h := range t.header {
		f := fate{statusOK, "as a column of the dataset"}
		switch {
		case !magic(h):
		case strings.HasPrefix(h, "__expected"), strings.HasPrefix(h, "__config:__expected"), h == "__metric":
			add(scorersColumn)
			f.note = "as the column " + scorersColumn
		case h == "__description":
			add(nameColumn)
			f.note = "as the column " + nameColumn
		case h == "__threshold":
			add(thresholdColumn)
			f.note = "as the column " + thresholdColumn
		case strings.HasPrefix(h, "__metadata:"):
			add(tagColumn)
			f = fate{statusDiffers, "as tags of the form KEY:VALUE in the column " + tagColumn}
		case affixColumns[h] != "":
			add(affixColumns[h])
			c.affixes[affixColumns[h]] = true
			c.columns[len(c.columns)-1][affixColumns[h]] = true
			f.note = "as the column " + affixColumns[h]
		case h == "__providerOutput":
			add(scorersColumn)
			f = fate{statusTODO, testTODO["providerOutput"]}
		default:
			f = fate{statusIgnored, "promptfoo has no such column"}
		}
		c.fates.add(fateLine{path: t.name + ": " + h, file: t.name, at: 1, fate: f})
	}
	if mayLose {
		add(scorersColumn)
	}
	return out
}

// mayLose reports whether a cell may leave its row unscored: one that has more than names, or the name of what is not one text.
func (c *converter) mayLose(t *testTable, has map[string]bool, ofDefaults map[string]string) bool {
	known := maps.Clone(ofDefaults)
	for h := range has {
		known[h] = ""
	}
	loses := func(cell string) bool { return beyondNames(cell) || c.notText(cell, known, t.around) != "" }
	inRow := func(row []string) bool { return slices.ContainsFunc(row, loses) }
	return slices.ContainsFunc(t.rows, inRow) || slices.ContainsFunc(slices.Collect(maps.Values(ofDefaults)), loses)
}

var affixColumns = map[string]string{"__prefix": prefixVariable, "__suffix": suffixVariable}

func (c *converter) cell(t *testTable, row int, cells map[string]string, column string) string {
	switch column {
	case nameColumn:
		if name := strings.Join(strings.Fields(cells["__description"]), " "); name != "" {
			return name
		}
		return fmt.Sprintf("row %d", row+1)
	case thresholdColumn:
		return strings.TrimSpace(cells["__threshold"])
	case tagColumn:
		return strings.Join(rowTags(t.header, cells), ",")
	case scorersColumn:
		return c.rowScorers(t, row, cells)
	case prefixVariable:
		return cmp.Or(cells["__prefix"], c.defaults.prefix)
	case suffixVariable:
		return cmp.Or(cells["__suffix"], c.defaults.suffix)
	}
	return cells[column]
}

func (c *converter) rowScorers(t *testTable, row int, cells map[string]string) string {
	all := &sequence{}
	sc := &scope{changes: c.defaults.changes, judge: c.defaults.judge, names: &names{outer: &c.metric}}
	sc.weighed = c.defaults.threshold != nil || strings.TrimSpace(cells["__threshold"]) != ""
	n := 0
	for _, h := range t.header {
		cell := strings.TrimSpace(cells[h])
		if !strings.HasPrefix(h, "__expected") || cell == "" || !c.fates.spend(1) {
			continue
		}
		config := map[string]any{}
		if m := strings.TrimSpace(cells["__metric"]); m != "" {
			config["metric"] = m
		}
		keys := []string{fmt.Sprintf("__config:__expected%d:threshold", n+1)} // the n-th that has a text, whatever its column's name
		if n == 0 {
			keys = append(keys, "__config:__expected:threshold")
		}
		for _, key := range keys {
			if v, err := strconv.ParseFloat(strings.TrimSpace(cells[key]), 64); err == nil {
				config["threshold"] = v
			}
		}
		c.cellAssertion(
			all,
			sc,
			assertionCell{at: fmt.Sprintf("%s: row %d %s", t.name, row+1, h), text: cell, row: cells, config: config},
		)
		n++
	}
	if why := t.lost[row]; why != "" {
		all.add(c.unscored(why))
	}
	if all.empty() && c.defaults.scorers.empty() {
		all.add(one("expr", textValue("true")))
	}
	if all.empty() {
		return ""
	}
	out, err := json.Marshal(native(all))
	if err != nil {
		return ""
	}
	return string(out)
}

// assertionCell is a cell with an assertion, such as contains: Paris.
type assertionCell struct {
	at, text string
	row      map[string]string
	config   map[string]any // from other cells of the row
}

func (c *converter) cellAssertion(to *sequence, sc *scope, cell assertionCell) {
	made := assertionOf(cell.text)
	for key, value := range made {
		text, is := value.(string)
		if is && key == "value" && !assertionKinds()[fmt.Sprint(made["type"])].code { // a cell is not a template
			value = filledIn(text, cell.row)
		}
		if _, given := cell.config[key]; !given { // a threshold of its own column wins
			cell.config[key] = value
		}
	}
	data, err := json.Marshal(cell.config)
	if err != nil {
		return
	}
	n, ok := yaml.Parse(cell.at, data, new(diagList))
	if !ok {
		return
	}
	l := newFates(c.fates.secrets)
	c.assertion(to, src{n, "row", "", l}, sc)
	for _, f := range l.byPath {
		if f.status == statusTODO {
			c.fates.add(fateLine{path: cell.at, fate: f})
			c.tail.note("TODO: " + cell.at + ": " + f.note)
			break
		}
	}
}

func rowTags(header []string, cells map[string]string) (tags []string) {
	for _, h := range header {
		if key, is := strings.CutPrefix(h, "__metadata:"); is && strings.TrimSpace(cells[h]) != "" {
			tags = append(tags, tagOf(strings.TrimSuffix(key, "[]"), cells[h]))
		}
	}
	return tags
}

// filledIn replaces variables by the cells of the row.
func filledIn(text string, cells map[string]string) string {
	return simple.regexp().ReplaceAllStringFunc(text, func(m string) string {
		if value, ok := cells[simple.regexp().FindStringSubmatch(m)[1]]; ok {
			return value
		}
		return m
	})
}

// inCell matches an assertion in a cell: not-, type, (threshold): value.
var inCell = pattern{expression: `(?s)^(not-)?(trajectory:[a-z-]+|[a-z][a-z0-9-]*)(?:\((\d+(?:\.\d+)?)\))?(?::(.*))?$`}

// withThreshold lists types whose threshold is 0.75 if the cell has none.
var withThreshold = []string{
	"answer-relevance", "classifier", "context-faithfulness", "context-recall", "context-relevance", "cost", "latency", "levenshtein",
	"perplexity-score", "perplexity", "rouge-n", "similar", "starts-with",
}

// assertionOf parses a cell as promptfoo does: a cell without a type is the whole answer.
func assertionOf(cell string) map[string]any {
	for prefix, kind := range map[string]string{
		"javascript:": "javascript", "fn:": "javascript", "eval:": "javascript", "grade:": "llm-rubric", "llm-rubric:": "llm-rubric",
		"python:": "python",
	} {
		if rest, is := strings.CutPrefix(cell, prefix); is {
			return map[string]any{"type": kind, "value": strings.TrimSpace(rest)}
		}
	}
	if file, is := strings.CutPrefix(cell, "file://"); is {
		name, _, _ := strings.Cut(file, ":")
		kind := map[string]string{javaScript: "javascript", python: "python"}[language(name)]
		if kind != "" {
			return map[string]any{"type": kind, "value": cell}
		}
	}
	m := inCell.regexp().FindStringSubmatch(cell)
	if m == nil || !hasKind(m[2]) {
		return map[string]any{"type": "equals", "value": cell}
	}
	out := map[string]any{"type": m[1] + m[2]}
	if value := strings.TrimSpace(m[4]); value != "" {
		out["value"] = value
	}
	if slices.Contains(withThreshold, m[2]) {
		limit := 0.75
		if m[2] == "similar" {
			limit = 0.8
		}
		if n, err := strconv.ParseFloat(m[3], 64); err == nil {
			limit = n
		}
		out["threshold"] = limit
	}
	return out
}

// dataFile writes a table. A table without magic columns is copied unchanged.
func (c *converter) dataFile(t *testTable, rows [][]string, columns []string) string {
	base := strings.TrimSuffix(path.Base(t.name), path.Ext(t.name))
	name := c.dataNames.free(dataDir+"/"+base, "-") + ".csv"
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write(columns) // a buffer never fails
	for _, row := range rows {
		_ = w.Write(row)
	}
	w.Flush()
	c.files[name] = b.Bytes()
	return name
}

// lineTests reads a file with one test per line, as JSON.
func (c *converter) lineTests(s src, name string) {
	_, data, err := c.source.readText(name)
	if err != nil {
		c.loseTests(s, name, err.Error())
		return
	}
	n := 0
	for text := range bytes.Lines(data) {
		n++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		if !c.fates.spend(1) {
			return
		}
		at := fmt.Sprintf("%s:%d", name, n)
		node, ok := c.source.parseLine(name, n, data, text)
		if !ok {
			continue // a problem of the file, so that nothing is imported
		}
		test := src{node, at + ":", name, c.fates}
		if !test.IsMapping() {
			c.loseTests(test, at, "expected a test as an object")
			continue
		}
		c.test(test, nil)
		c.fates.account(test)
	}
}

func hasKind(name string) bool {
	_, known := assertionKinds()[name]
	return known && !special(name)
}
