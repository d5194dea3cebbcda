package scorers

import "slices"

// Builtin is the table of built-in kinds by family. A new kind takes a file and a line here. Kinds that read texts, look at
// the service's answer, or combine others share one file each.
func Builtin() Table {
	return withLimits(slices.Concat(
		family("Text", append(
			textKinds(), lengthKind(), snapshotKind(), numberKind(), choiceKind(), listKind(), refusalKind(),
		)),
		family("Formats", Table{jsonKind(), schemaKind(), xmlKind()}),
		family("Similarity", Table{
			levenshteinKind(),
			rougeKind(),
			bleuKind(),
			chrfKind(),
			gleuKind(),
			jaroWinklerKind(),
			tokenF1Kind(),
			exactMatchKind(),
			similarKind(),
		}),
		family("Judgement", append(textless(labelKind()), judgeKind())),
		family("Response", textless(append(serviceKinds(), promptFeedbackKind(), candidatesKind(), costKind())...)),
		family("Tools", textless(toolCallsKind(), stepsKind(), toolErrorsKind())),
		family("Code", Table{execKind(), exprKind(), fileKind()}),
		family("Combinations", append(combinators(), textless(unscoredKind())...)),
	))
}

func family(name string, kinds Table) Table {
	for i := range kinds {
		kinds[i].Family = name
	}
	return kinds
}

// unlisted are kinds that cannot be in lists of scorers: blocks of a suite compile to them.
func unlisted() Table {
	return Table{
		classificationKind(),
	}
}
