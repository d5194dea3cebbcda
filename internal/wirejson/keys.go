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
	"tool_config": "toolConfig", "function_declarations": "functionDeclarations", "function_calling_config": "functionCallingConfig",
	"allowed_function_names": "allowedFunctionNames", "function_call": "functionCall", "function_response": "functionResponse",
	"parameters_json_schema": "parametersJsonSchema", "thought_signature": "thoughtSignature", "file_data": "fileData",
	"executable_code": "executableCode", "code_execution_result": "codeExecutionResult", "cached_content": "cachedContent",
	"presence_penalty": "presencePenalty", "frequency_penalty": "frequencyPenalty", "response_mime_type": "responseMimeType",
	"response_schema": "responseSchema", "response_json_schema": "responseJsonSchema", "thinking_config": "thinkingConfig",
	"include_thoughts": "includeThoughts", "thinking_budget": "thinkingBudget", "thinking_level": "thinkingLevel",
	"cached_content_token_count": "cachedContentTokenCount", "tool_use_prompt_token_count": "toolUsePromptTokenCount",
}

// opaque lists the members whose values belong to the user: arguments and results of functions, and
// schemas. Their keys are the user's names, and are not rewritten.
var opaque = map[string]bool{
	"args": true, "response": true, "parameters": true, "parametersJsonSchema": true, "responseSchema": true, "responseJsonSchema": true,
}

// CamelKeys rewrites the known snake_case keys of a JSON text to camelCase, the spelling that evalrun
// decodes. It changes no other strings, and nothing inside the members of opaque. A text that is not JSON
// may come back damaged, and the decoder refuses it. Without such keys the result is data itself.
func CamelKeys(data []byte) []byte {
	var out []byte
	copied, skip := 0, 0
	for start, end := range keys(data) {
		if start < skip {
			continue
		}
		camel := ""
		if bytes.IndexByte(data[start:end], '_') >= 0 {
			camel = snakeNames[string(data[start:end])]
		}
		if camel != "" {
			out = append(out, data[copied:start]...)
			out = append(out, camel...)
			copied = end
		}
		if opaque[string(data[start:end])] || opaque[camel] {
			skip = endOfValue(data, end+1)
		}
	}
	if copied == 0 {
		return data
	}
	return append(out, data[copied:]...)
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

// endOfValue finds the end of the object or list after the colon at or after i, or i for a scalar.
func endOfValue(data []byte, i int) int {
	i += len(data[i:]) - len(bytes.TrimLeft(data[i:], ": \t\r\n"))
	for depth := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case '"':
			if i = endOfString(data, i+1); i < 0 {
				return len(data)
			}
		}
		if depth <= 0 {
			break
		}
	}
	return i
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
