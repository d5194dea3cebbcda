package scorers

import "slices"

// Builtin is the table of built-in kinds. A new kind takes a file and a line here. Kinds that read texts, look at
// the service's answer, or combine others share one file per family.
func Builtin() Table {
	return withLimits(slices.Concat(
		textKinds(),
		Table{
			lengthKind(),
			levenshteinKind(),
			snapshotKind(),
			rougeKind(),
			bleuKind(),
			chrfKind(),
			gleuKind(),
			jaroWinklerKind(),
			tokenF1Kind(),
			exactMatchKind(),
			jsonKind(),
			schemaKind(),
			xmlKind(),
			numberKind(),
			choiceKind(),
			listKind(),
			refusalKind(),
			similarKind(),
			judgeKind(),
		},
		textless(serviceKinds()),
		textless(Table{
			promptFeedbackKind(),
			candidatesKind(),
			costKind(),
			toolCallsKind(),
			stepsKind(),
			toolErrorsKind(),
			labelKind(),
			unscoredKind(),
		}),
		Table{
			execKind(),
			exprKind(),
		},
		combinators(),
	))
}

// unlisted are kinds that cannot be in lists of scorers: blocks of a suite compile to them.
func unlisted() Table {
	return Table{
		classificationKind(),
	}
}
