package promptfoo

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/evalrun/evalrun/diag"
	"github.com/evalrun/evalrun/internal/clients/wire"
)

const imagesDir = "images"

const maxImages = 100

// image keeps an image of a chat beside the suite, and returns its file; why says why there is none.
func (c *converter) image(part src) (name, why string) {
	at := part.get("image_url")
	address := at.text()
	if at.IsMapping() {
		address = at.get("url").text()
	}
	if source := part.get("source"); source.IsMapping() {
		address = source.get("url").text()
		if data := source.get("data").text(); data != "" {
			address = "data:" + source.get("media_type").text() + ";base64," + data
		}
	}
	if name = c.images[address]; name != "" {
		return name, ""
	}
	data, ending, err := []byte(nil), "", error(nil)
	encoded, isData := strings.CutPrefix(address, "data:")
	shown := diag.CleanLine(cut(withoutSecrets(part, address), 80))
	switch {
	case address == "" || strings.Contains(address, "{{"):
		return "", "an image that a variable chooses; write `image: FILE` in `parts` of a prompt"
	case isData:
		_, text, _ := strings.Cut(encoded, ";base64,")
		if data, err = base64.StdEncoding.DecodeString(text); err == nil {
			ending, err = wire.ImageEnding(data)
		}
		shown = "in the prompt"
	case c.fetch == nil:
		return "", "the image " + shown + " is not fetched: import with --fetch-images, or write `image: FILE`"
	case len(c.images) >= maxImages:
		return "", fmt.Sprintf("the configuration has more than %d images; keep them in files", maxImages)
	default:
		data, ending, err = c.fetch(address)
	}
	if err != nil {
		return "", fmt.Sprintf("the image %s: %s", shown, err)
	}
	name = fmt.Sprintf("%s/image-%d%s", imagesDir, len(c.images)+1, ending)
	c.images[address], c.files[name] = name, data
	return name, ""
}
