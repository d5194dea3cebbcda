package files

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// InWords rewrites an error of decoding JSON that a person wrote, without the names of Go's types.
func InWords(err error) error {
	wrong, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case ok && wrong.Field == "":
		return fmt.Errorf("it has the wrong type: %s", wrong.Value)
	case ok:
		return fmt.Errorf("`%s` has the wrong type: %s", wrong.Field, wrong.Value)
	case err != nil && strings.HasPrefix(err.Error(), "json: "):
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return err
}
