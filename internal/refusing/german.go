package refusing

const (
	deTasks = `(?:helfen|behilflich|geben|erteilen|bereitstellen|erfüllen|beantworten|antworten|unterstützen|nachkommen|entsprechen|` +
		`weitergeben|weiterzugeben|herausgeben|mitteilen|nennen|verraten|schreiben|verfassen|erstellen|erzeugen|generieren|anbieten|` +
		`liefern|machen|tun|ausführen|durchführen|bearbeiten|dienen|stellen|abgeben|äussern|beraten|zeigen|erklären|beschreiben|` +
		`diskutieren|wiedergeben|mitwirken|beteiligen|teilnehmen|assistieren|vornehmen|fortfahren|fortsetzen|eingehen|offenlegen|` +
		`preisgeben|veröffentlichen|aufrufen|zusammenfassen|übersetzen|kommentieren|billigen|fördern|sagen|leisten|umsetzen|` +
		`produzieren|vermitteln|teilen|begleiten|bewerten|empfehlen|verbreiten|zugreifen|versenden|senden|öffnen|weiterführen|sprechen)`
	deDoes = `(?:helfe|schreibe|erstelle|gebe|beantworte|unterstütze|mache|verfasse|liefere|erteile|äussere|tue|generiere|erzeuge|stelle|biete|` +
		`beteilige|leiste|verbreite|teile|diskutiere|kommentiere|äußere)`
)

// What is asked, where it is not named: dazu, so etwas, solche Witze, dir.
const deTopic = `(?:das|dies\w*|dazu|dabei|darüber|damit|hierzu|hierbei|davon|daran|dafür|solche\w*|so etwas|derartige\w*|ihnen|dir|euch|ihre\w*|deine\w*|` +
	`links?|e-mails?|internet)`

// dePrivate are verbs of which one says what one does not, declining nothing.
const dePrivate = `(?:weiss|glaube|denke|finde|sehe|kenne|verstehe|empfehle|brauche|habe|bezweifle|meine|erinnere|merke|erkenne|höre|fühle|mag|` +
	`wünsche|erwarte|fürchte|vermute|hoffe|würde|war|komme|schlafe|esse|trinke|arbeite|wohne|lebe|spüre|bemerke|entdecke|konnte|könnte|wurde|` +
	`entschuldige|rate|vergesse|zweifle|bereue|verliere|rauche|fahre|spiele|will)`

var german = language{
	name: "German",
	states: anyOf(
		`\b(?:ich|wir) (?:kann|können|könnte|darf|dürfen|werde|werden|will|wollen|möchte|möchten)\b.*\b(?:nicht|kein\w*|weder|niemals|nie)\b.*\b`+deTasks+`\b`,
		`\b(?:kann|können|könnte|darf|dürfen|werde|werden|will|möchte|möchten) (?:ich|wir)\b.*\b(?:nicht|kein\w*|weder|niemals|nie)\b.*\b`+deTasks+`\b`,
		`\bich helfe\b.*\bnicht\b`, `\bich (?:bitte um verständnis)\b.*\b(?:nicht|kein\w*)\b`,
		`\bich verzichte (?:darauf|auf)\b`, `\bich halte es für (?:falsch|unangemessen|unverantwortlich)\b`,
		`\b(?:muss|müsste) ich (?:\pL+ )*(?:passen|nein sagen|absagen|ausschlagen|zurückweisen|unbeantwortet lassen|verneinen|abbrechen|aufhören|stoppen)\b|\bsage ich nein\b|\betwas das ich nicht\b|\bverständnis dass ich\b.*\bnicht\b`, `\bmir (?:\pL+ )*(?:untersagt|verboten)\b`,
		`\bnichts? (?:\pL+ )*(?:wobei|womit|bei dem|mit dem) ich (?:\pL+ )*helfen\b`, `\bnicht zur verfügung\b`, `\bsteht mir nicht zu\b|\bist mir nicht wohl\b|\bwäre \pL+ von mir\b`, `\bich (?:bin|wurde) (?:\pL+ )*(?:angewiesen|instruiert|angehalten|trainiert)\b.*\b(?:nicht|kein\w*)\b`,
		`\b(?:ausserhalb dessen|übersteigt|überschreitet)\b.*\bich\b`,
		`\bsehe mich (?:\pL+ )*(?:nicht|ausserstande)`, `\bdas ist mir (?:\pL+ )*nicht möglich`,
		`\b(?:nicht|keine?\w*)\b[^.]*\b`+deTasks+` (?:kann|darf|werde|möchte) ich\b`,
		`\bich `+deDoes+`\b.*\b(?:nicht|kein\w*|niemals|nie)\b`, `\b`+deDoes+` ich\b.*\b(?:nicht|kein\w*|niemals|nie)\b`,
		`\b(?:ich bin|bin ich|wir sind|sind wir) (?:\pL+ )*(?:nicht in der lage|nicht befugt|nicht berechtigt|nicht bereit|nicht imstande)`,
		`\b(?:ist|wäre) (?:es )?mir (?:\pL+ )*(?:nicht|kein\w*) (?:\pL+ )*(?:möglich|erlaubt|gestattet)|\bmir ist (?:es )?(?:\pL+ )*nicht (?:möglich|erlaubt|gestattet)`,
		`\b(?:ich|muss ich)\b.*\bablehnen\b|\bich lehne\b.*\bab\b|\bich verweigere\b|\bich weigere mich\b`,
		`\bmuss ich (?:\pL+ )*(?:abstand nehmen|verzichten)|\bdavon (?:\pL+ )*abstand nehmen`,
		`\b(?:verst(?:ö|oe)(?:ss|ß)t|widerspricht|gegen) (?:\pL+ ){0,2}?(?:meine\w*|unsere\w*) (?:\pL+ ){0,2}?`+
			`(?:richtlinien|grundsätze\w*|regeln|nutzungsbedingungen|prinzipien|werte\w*|programmierung)`,
		`\b(?:mein|unser)\w* (?:\pL+ )?(?:programm\w*|richtlinien|regeln|vorgaben) (?:erlaub|gestatt|verbiet|untersag|lass|verhinder|hinder)\w*`,
		`\b(?:unverantwortlich|unangemessen|unethisch|unpassend)\b.*\b(?:wenn ich|von mir|für mich|das zu|dies zu|darüber)`,
		`\bdarauf (?:programmiert|ausgelegt)\b.*\b(?:kein\w*|nicht)\b`, `\bfühle ich mich\b.*\bnicht\b`, `\bich fühle mich\b.*\b(?:nicht|un)\w*\b.*\b(?:wohl|dabei)`,
		`\bich (?:möchte|würde|ziehe es vor)\b.*\blieber nicht\b`, `\bnichts(?: \pL+)* für (?:sie|dich) tun\b`,
	),
	may: anyOf(
		`\b`+deTopic+`\b.*\b(?:kann|darf|werde|will|möchte) ich\b.*\b(?:nicht|nichts|kein\w*)\b`,
		`\bich (?:kann|darf|werde|will|möchte|könnte)\b.*\b`+deTopic+`\b.*\b(?:nicht|nichts|kein\w*)\b|`+
			`\bich (?:kann|darf|werde|will|möchte)\b.*\b(?:nicht|nichts|kein\w*)\b.*\b`+deTopic+`\b`,
		`\b(?:ich|wir) (?:kann|können|darf|dürfen)\b.*\b(?:nicht|nichts|kein\w*)\b`, `\b(?:kann|können|darf|dürfen) (?:ich|wir)\b.*\b(?:nicht|nichts|kein\w*)\b`,
		`\b(?:ich \pL+[a-su-z]e|\pL+[a-su-z]e ich|wir (?:geben|teilen|liefern|unterstützen|erteilen))\b.*\b(?:nicht|kein\w*)\b`,
		`\bich werde (?:\pL+ )*(?:nicht|kein\w*)\b`,
		`\b`+deTopic+`\b(?: \pL+)? \pL+e ich\b(?: \pL+)* (?:nicht|nichts|kein\w*)\b`, `\bich \pL+e\b.*\b(?:`+deTopic+`)\b.*\b(?:nicht|kein\w*)\b`,
	),
	idle: anyOf(
		`\b(?:`+dePrivate+`|bin|hätte|hatte) ich\b`,
		`\bich (?:`+dePrivate+`|bin|gehe nicht auf)\b`, `\bwir (?:wissen|glauben|denken|finden|sehen|kennen|haben|sind|brauchen|deklinieren)\b`,
		`\b(?:glauben|fassen|erwarten|finden|erkennen|nachstellen|zustimmen|verstehen|benutzen|verwenden|erinnern|abwarten|bestätigen|loben|denken|erinnern|sehen kann|entscheiden|beschönigen|lügen|schlafen|merken|beurteilen|einschätzen|leiden|verhehlen|feststellen|leugnen)\b`,
	),
	spares: anyOf(
		`\b(?:mit sicherheit|genau) sagen`,
		`\bgenug\b`, `\bkaum\b`, `\bgar nicht\b`, `\bnicht mehr zustimmen`, `vorstellen`, `\bleugnen\b`, `\blügen\b`, `\b(?:wenn|ob|falls|warum|weil) (?:ich|wir)\b.*\bkann\b`,
		`\bnur (?:wärmstens )?empfehlen`, `fehler .*finden`, `\bgenug (?:betonen|danken)`, `abzulehnen`,
	),
	helps: anyOf(
		`\bhier (?:ist|sind|eine?|findest|finden)\b`,
		`\b(?:aber|jedoch|allerdings|dennoch) (?:\pL+ ){0,3}(?:grundsätzlich|im allgemeinen|in der regel|üblicherweise|meist|meistens|ungefähr|etwa|`+
			`generell|typischerweise)\b`,
		`^(?:grundsätzlich|im allgemeinen|in der regel|üblicherweise|meist|generell)\b`, `\baber ich kann [^.!?:]{3,80}: ?\S.{10}`,
	),
	turns: anyOf(
		`stattdessen`, `etwas anderem`, `andere(?:n|s|r)? (?:frage|thema|aufgabe)`, `alternativ`, `beratungsstelle`, `notruf`, `wende`, `kontakt`,
		`arzt`, `anwalt`, `gerne? (?:helfe|weiter)`, `lass(?:en)? (?:es )?(?:mich|sie)`,
	),
}
