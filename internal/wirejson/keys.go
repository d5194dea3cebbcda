package wirejson

import (
	"bytes"
	"iter"
)

// snakeNames are the snake_case spellings of field names that the service and its clients use,
// each with the camelCase one.
var snakeNames = map[string]string{
	"inline_data": "inlineData", "mime_type": "mimeType",
	"generation_config": "generationConfig", "safety_settings": "safetySettings", "stop_sequences": "stopSequences",
	"max_output_tokens": "maxOutputTokens", "top_p": "topP", "top_k": "topK", "candidate_count": "candidateCount",
	"finish_reason": "finishReason", "finish_message": "finishMessage", "safety_ratings": "safetyRatings",
	"prompt_feedback": "promptFeedback", "block_reason": "blockReason", "block_reason_message": "blockReasonMessage",
	"model_version": "modelVersion", "usage_metadata": "usageMetadata", "prompt_token_count": "promptTokenCount",
	"candidates_token_count": "candidatesTokenCount", "thoughts_token_count": "thoughtsTokenCount",
	"total_token_count": "totalTokenCount", "total_tokens": "totalTokens",
	"display_name": "displayName", "input_token_limit": "inputTokenLimit", "output_token_limit": "outputTokenLimit",
	"supported_generation_methods": "supportedGenerationMethods", "next_page_token": "nextPageToken",
	"retry_delay": "retryDelay", "quota_id": "quotaId", "quota_value": "quotaValue", "system_instruction": "systemInstruction",
	"generate_content_request": "generateContentRequest", "output_dimensionality": "outputDimensionality",
}

// CamelKeys rewrites the known snake_case keys of a JSON text to camelCase, the
// spelling that evalrun decodes. Strings that are no keys are left alone; a text that is not
// JSON comes back in one piece or another, for the decoder to refuse. Without such keys the
// result is data itself.
func CamelKeys(data []byte) []byte {
	var out []byte
	copied := 0
	for start, end := range keys(data) {
		if bytes.IndexByte(data[start:end], '_') < 0 {
			continue
		}
		if camel, ok := snakeNames[string(data[start:end])]; ok {
			out = append(out, data[copied:start]...)
			out = append(out, camel...)
			copied = end
		}
	}
	if copied == 0 {
		return data
	}
	return append(out, data[copied:]...)
}

// HasOnlyKeys reports whether every key in a JSON text, at whatever depth, is among the known ones.
func HasOnlyKeys(data []byte, known map[string]bool) bool {
	for start, end := range keys(data) {
		if !known[string(data[start:end])] {
			return false
		}
	}
	return true
}

// keys yields where the keys of a JSON text begin and end, quotes left out.
func keys(data []byte) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		for i := bytes.IndexByte(data, '"'); i >= 0; {
			start := i + 1
			end := endOfString(data, start)
			if end < 0 || followedByColon(data, end+1) && !yield(start, end) {
				return
			}
			next := bytes.IndexByte(data[end+1:], '"')
			if next < 0 {
				return
			}
			i = end + 1 + next
		}
	}
}

// endOfString finds the closing quote of the string that begins at i; -1 when it is missing.
func endOfString(data []byte, i int) int {
	rest := data[i:]
	for from := 0; ; {
		q := bytes.IndexByte(rest[from:], '"')
		if q < 0 {
			return -1
		}
		q += from
		backslashes := 0
		for q-backslashes > 0 && rest[q-backslashes-1] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i + q
		}
		from = q + 1
	}
}

func followedByColon(data []byte, i int) bool {
	for ; i < len(data); i++ {
		switch data[i] {
		case ' ', '\t', '\r', '\n':
		case ':':
			return true
		default:
			return false
		}
	}
	return false
}
