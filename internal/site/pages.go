package site

import (
	"encoding/json"
	"io"
	"path"

	"github.com/evalrun/evalrun/internal/page"
	"github.com/evalrun/evalrun/journal"
)

// The pages about several runs.
const (
	indexPage   = "index.html"
	trendsPage  = "trends.html"
	comparePage = "compare.html"
)

// publishedPolicy lets a page load scripts and styles of the same site, and create script URLs at one place in its
// program. `file:` is for sites opened from a folder, because some browsers do not count that as 'self'.
const publishedPolicy = "default-src 'none'; img-src data:; style-src 'self' file:; script-src 'self' file:" +
	"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types evalrun"

// addresses are the paths of the style, of the program, and of the data for pages about several runs.
type addresses struct{ style, code, data string }

func runPage(r *published) string { return path.Join(runsDir, r.Key+".html") }

func publishedProgram() string {
	more := append(page.Scripts(), asset("comparisons.js"), asset("site.js"))
	return page.Program(asset("load.js"), more...)
}

// Files of the folder with the style and the program.
const (
	styleFile   = "style.css"
	programFile = "program.js"
)

// assetFiles returns them, in the order of their hash.
func assetFiles() []pageFile {
	return []pageFile{{styleFile, []byte(page.Style() + page.RunsStyle())}, {programFile, []byte(publishedProgram())}}
}

func (s *site) writeAssets() error {
	p, err := s.to.newParcel()
	if err != nil {
		return err
	}
	for _, asset := range assetFiles() {
		if err := p.add(asset.name, asset.data); err != nil {
			return err
		}
	}
	dir, err := p.done()
	s.assets.style, s.assets.code = dir+"/"+styleFile, dir+"/"+programFile
	return err
}

// page makes a page below root, which is "" or leads up to the site.
func (s *site) page(name, title, root string) page.RunsSource {
	p := page.RunsSource{
		Name:   name,
		Title:  title,
		Maker:  "evalrun",
		Area:   "Site",
		Policy: publishedPolicy,
		Style:  root + s.assets.style,
		Code:   root + s.assets.code,
		Root:   root,
		Links: []page.RunsLink{
			{Name: "runs", Title: "Runs", Address: root + indexPage},
			{Name: "trends", Title: "Trends", Address: root + trendsPage},
			{Name: "compare", Title: "Compare", Address: root + comparePage},
		},
	}
	if name != "run" {
		p.Head = root + s.assets.data + "/"
	}
	return p
}

func (s *site) drawRun(r *published) func(io.Writer) error {
	const root = "../"
	p := s.page("run", r.Title(), root)
	p.Data = root + r.data + "/"
	return p.Draw
}

// writeGallery writes the pages about several runs. The index is last, because it links to all others.
func (s *site) writeGallery(list page.RunList, compared []comparison) error {
	trends, err := s.trends()
	if err != nil {
		return err
	}
	p, err := s.to.newParcel()
	if err != nil {
		return err
	}
	for _, one := range []struct {
		name string
		data any
	}{{"runs", list}, {"trends", trends}, {"comparisons", compared}} {
		data, err := json.Marshal(one.data)
		if err == nil {
			err = p.block(one.name, data)
		}
		if err != nil {
			return err
		}
	}
	if s.assets.data, err = p.done(); err != nil {
		return err
	}
	for _, one := range [][3]string{{comparePage, "compare", "Compare"}, {trendsPage, "trends", "Trends"}, {indexPage, "runs", "Runs"}} {
		drawn := s.page(one[1], one[2], "")
		if err := s.to.page(one[0], drawn.Draw); err != nil {
			return err
		}
	}
	return nil
}

// trends gathers the values of all metrics over the runs.
func (s *site) trends() (page.Shown, error) {
	listed := make([]*page.ListedRun, len(s.runs))
	for i, r := range s.runs {
		listed[i] = &r.ListedRun
	}
	t := page.NewTrends(listed)
	err := t.TakeRuns(func(i int) (*journal.Document, error) { return s.open(s.runs[i]) })
	t.TakeDrift(func(i int) string { return s.runs[i].path })
	return t.Shown(""), err
}
