package wire

import (
	"encoding/json"

	fastjson "github.com/segmentio/encoding/json"

	"github.com/evalrun/evalrun/internal/wirejson"
)

// DecodeAny decodes any JSON value, and keeps the spelling of numbers. The error is an *eval.Error. Every
// answer of an application passes through it, and encoding/json would take several times as long.
func DecodeAny(data []byte) (v any, err error) {
	if err := Decodable(data); err != nil {
		return nil, err
	}
	if wirejson.Valid(data) {
		_, err = fastjson.Parse(data, &v, fastjson.UseNumber)
	} else {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		return nil, shapeError(data, err)
	}
	return v, nil
}
