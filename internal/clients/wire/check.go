package wire

import (
	"fmt"
	"maps"
	"slices"

	"github.com/evalrun/evalrun/eval"
)

// checking collects what a protocol cannot express.
type checking struct {
	protocol eval.ProtocolName
	request  *eval.Request
	config   decodedConfig
	found    Refusals
}

func (c *checking) refuse(key, fix, format string, args ...any) {
	c.found = append(c.found, inexpressible{Key: key, Why: fmt.Sprintf(format, args...), Fix: fix})
}

// lacks refuses a key of generationConfig that the protocol has no field for.
func (c *checking) lacks(given bool, key, fix string) {
	if given {
		c.refuse("generationConfig."+key, fix, "the protocol %s has no field for `%s`", c.protocol, key)
	}
}

// common refuses what only the service's own protocol can express.
func (c *checking) common() {
	if len(c.request.SafetySettings) > 0 {
		c.refuse("safetySettings", "remove them", "the protocol %s has no safety settings", c.protocol)
	}
	for _, name := range slices.Sorted(maps.Keys(c.config.unknown)) {
		c.refuse(
			"generationConfig."+name, "write the vendor's own field in `extra` of the target",
			"the protocol %s has no generationConfig, and `%s` is not one of the keys that evalrun maps", c.protocol, name,
		)
	}
	if t := c.config.thinking; t != nil {
		for _, name := range slices.Sorted(maps.Keys(t.unknown)) {
			c.lacks(true, "thinkingConfig."+name, "write the vendor's own field in `extra` of the target")
		}
	}
}

// format checks the format of the answer. anyJSON says that the protocol allows JSON without a schema.
func (c *checking) format(anyJSON bool) {
	switch mime := c.config.mimeType; {
	case mime == "", mime == "text/plain" && c.config.schema == nil:
	case mime != "application/json":
		c.refuse(
			"generationConfig.responseMimeType", "use application/json or text/plain",
			"the protocol %s has no answers of type %s", c.protocol, mime,
		)
	case c.config.schema == nil && !anyJSON:
		c.refuse(
			"generationConfig.responseMimeType", "add a `responseSchema`", "the protocol %s gives JSON by a schema alone",
			c.protocol,
		)
	}
}

func (c *checking) oneCandidate() {
	if n := c.config.candidates; n != nil && *n != 1 {
		c.refuse("generationConfig.candidateCount", "use `repeats`", "the protocol %s gives one answer to a call", c.protocol)
	}
}

func (c *checking) thinkingByLevel(shows bool) {
	t := c.config.thinking
	if t == nil {
		return
	}
	c.lacks(t.Budget != nil, "thinkingConfig.thinkingBudget", "use `thinkingLevel`: low, medium or high")
	c.lacks(t.Include != nil && !shows, "thinkingConfig.includeThoughts", "remove it")
}

type acceptedFiles struct {
	images func(mime string) bool
	data   func(mime string) bool
	types  string // for messages
}

func (c *checking) parts(takes acceptedFiles) {
	for i := range c.request.Contents {
		turn := &c.request.Contents[i]
		for _, p := range turn.Parts {
			c.part(p, turn.Role == eval.RoleModel, takes)
		}
	}
}

func (c *checking) part(p eval.Part, ofModel bool, takes acceptedFiles) {
	switch p := p.(type) {
	case eval.ImagePart:
		c.file("image", p.Image, ofModel, takes.images, takes.types)
	case eval.DataPart:
		c.file("data", p.Data, ofModel, takes.data, takes.types)
	case eval.TextPart, eval.RawPart, eval.ResultPart:
	}
}

func (c *checking) file(key string, file *eval.Image, ofModel bool, taken func(mime string) bool, types string) {
	switch {
	case ofModel:
		c.refuse(key, "move it to a turn of the user", "the protocol %s has no files in turns of the model", c.protocol)
	case !taken(file.MIMEType):
		c.refuse(key, "it takes "+types, "the protocol %s takes no %s", c.protocol, file.MIMEType)
	}
}
