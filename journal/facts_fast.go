package journal

import "github.com/evalrun/evalrun/eval"

// scanFast is scan, as indexed has it too: false of a line that scan has to read.
func (f *Facts) scanFast(data []byte) bool {
	before := *f
	f.empty()
	c := cursor{data: data}
	for key := range c.members {
		switch string(key) {
		case "repeat":
			f.Repeat = c.count()
		case "tags":
			for range c.elements {
				f.tag(c.text(), before.Tags)
			}
		case "response":
			f.responseFast(&c, before.ModelVersion)
		default:
			if text, was := f.text(string(key), &before); text != nil {
				*text = recall(&was, c.text())
			} else {
				c.skip()
			}
		}
	}
	return !c.strange && c.at == len(data)
}

// empty forgets the last trial, but keeps the room of its slices.
func (f *Facts) empty() { *f = Facts{Tags: f.Tags[:0], Ratings: f.Ratings[:0], Scores: f.Scores[:0]} }

// text is the field for a text of the line, and its value in the last trial; nil for a key that has no text.
func (f *Facts) text(key string, before *Facts) (text *string, was string) {
	switch key {
	case "id":
		return &f.ID, ""
	case "caseId":
		return &f.CaseID, before.CaseID
	case "scorersHash":
		return &f.ScorersHash, before.ScorersHash
	case "varsHash":
		return &f.VarsHash, f.CaseID // mostly it is the id of the case
	case "requestHash":
		return &f.RequestHash, before.RequestHash
	case "cluster":
		return &f.Cluster, before.Cluster
	}
	return nil, ""
}

// tag adds a tag. It reuses the string of the previous trial's tag at the same place, if equal.
func (f *Facts) tag(text []byte, before []string) {
	was := ""
	if len(f.Tags) < len(before) {
		was = before[len(f.Tags)]
	}
	f.Tags = append(f.Tags, recall(&was, text))
}

// responseFast reads the ratings of an answer that was not blocked: passing a block makes the cursor strange.
func (f *Facts) responseFast(c *cursor, version string) {
	for key := range c.members {
		switch string(key) {
		case "modelVersion":
			f.ModelVersion = recall(&version, c.text())
		case "candidates":
			for range c.elements {
				f.candidateFast(c)
			}
		default:
			c.skip()
		}
	}
}

func (f *Facts) candidateFast(c *cursor) {
	for key := range c.members {
		switch string(key) {
		case "finishReason":
			c.finishReason()
		case "safetyRatings":
			for range c.elements {
				f.ratingFast(c)
			}
		default:
			c.skip()
		}
	}
}

func (f *Facts) ratingFast(c *cursor) {
	var r eval.SafetyRating
	// Of a rating that was there before, in the same place, the texts are the same.
	if all := f.Ratings[:cap(f.Ratings)]; len(f.Ratings) < len(all) {
		r = all[len(f.Ratings)]
	}
	category, probability := r.Category, r.Probability
	r = eval.SafetyRating{}
	var once [3]bool
	for key := range c.members {
		at := -1
		switch string(key) {
		case "category":
			at, r.Category = 0, recall(&category, c.text())
		case "probability":
			at, r.Probability = 1, recall(&probability, c.text())
		case "blocked":
			at, r.Blocked = 2, c.yes()
		default:
			c.skip()
		}
		c.first(&once, at)
	}
	f.Ratings = append(f.Ratings, r)
}
