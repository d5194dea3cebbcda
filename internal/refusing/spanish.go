package refusing

const esTasks = `(?:ayudar|asistir|proporcionar|dar|responder|contestar|cumplir|compartir|escribir|redactar|generar|crear|producir|realizar|facilitar|` +
	`explicar|decir|ofrecer|divulgar|revelar|procesar|participar|hacer|atender|satisfacer|discutir|comentar|opinar|apoyar|continuar|acceder|` +
	`completar|expresar|abrir|resumir|traducir|tramitar|suministrar|brindar|hablar|enseñar|mostrar|aconsejar|recomendar|describir|seguir|` +
	`proceder|colaborar|promover|elaborar|publicar|entregar|aceptar|ejecutar|indicar|involucrar|tratar)(?:te|le|les|os|lo|la|los|las|me|se|telo|selo)?`

var spanish = language{
	name: "Spanish",
	states: anyOf(
		`\bno (?:te |le |les |lo |se )?(?:puedo|podemos|podré|podremos|voy a|vamos a|quiero|queremos|deseo|debo|pienso|podría)\b(?: \pL+)*? `+esTasks+`\b`,
		`\bno (?:te |le |les )?(?:lo |la )?(?:puedo|podemos) `+esTasks+`\b`, `\bno te lo puedo\b`,
		`\bno (?:soy|somos) capaz(?:ces)? de `+esTasks, `\bno (?:estoy|estamos) (?:\pL+ )?(?:en condiciones|autorizad\w+|capacitad\w+|habilitad\w+|facultad\w+|programad\w+)`,
		`\bno (?:me|nos) (?:es|está|resulta) (?:\pL+ )?(?:posible|permitido)|\bno tengo (?:permitido|autorización|permiso)|\bno me corresponde\b|\bme es imposible\b`,
		`\bno me siento cómod[oa]\b|\bno me resulta cómodo\b`,
		`\bno (?:haré|responderé|contestaré|participaré|ayudaré|escribiré|daré|proporcionaré|compartiré|generaré|doy|ofrezco|facilito|ayudo|proporciono|`+
			`genero|escribo|comparto|respondo|redacto|produzco)\b`,
		`\bno puedo (?:enviar|mandar|navegar|buscar|consultar|ver)\b.*\b(?:correos?|enlaces?|internet|mensajes?|páginas?)`,
		`\b(?:tengo que|debo|he de) decir que no\b|\bpaso de es[eao]\b|\btengo prohibido\b|\bva más allá de lo que (?:puedo|me)\b`,
		`\btengo (?:instrucciones|órdenes|la orden|la instrucción) de no\b`, `\bfuera de lo que (?:puedo|me)\b`,
		`\bno estoy (?:diseñad|hech|pensad|entrenad)\w+ para\b`, `\b(?:con|en) eso no (?:te |le )?(?:voy|puedo)\b`,
		`\bno creo (?:contenidos?|este tipo|ese tipo|textos?|imágenes)\b`,
		`\b(?:me niego|me rehúso|rehúso|me abstengo|me abstendré|declino)\b|(?:^|yo )rechazo (?:\pL+ )?(?:petición|solicitud|tarea|pedido)`,
		`\b(?:debo|tengo que|voy a tener que|me veo obligad\w+ a|deberé)(?: \pL+)* (?:rechazar|negarme|declinar|abstenerme|rehusar|parar|detenerme|decir que no)(?:lo|la)?\b|\bdigo que no\b|\balgo que no (?:hago|puedo|haré)\b|\bno estoy dispuest`,
		`\bpref(?:iero|eriría) no\b`, `\b(?:siento|lamento|lamentamos|sentimos) (?:mucho )?no poder\b`,
		`\b(?:en contra de|contrari[oa]s? a|infringe|viola|incumple|contraviene|incompatible con) (?:\pL+ )?(?:mis?|nuestr[oa]s?)\b`,
		`\b(?:mis?|nuestr[oa]s?) (?:directrices|programación|normas|políticas?|reglas|principios) (?:no )?(?:me |nos |lo )?(?:permite\w*|prohíbe\w*|impide\w*)`,
		`\bsería (?:\pL+ )?(?:irresponsable|inapropiado|poco ético|inadecuado|imprudente)\b.*\b(?:mi parte|que yo|para mí)\b`,
		`\bno es algo (?:que|en lo que|con lo que) (?:pueda|puedo|haga|yo|esté|quiera|vaya)\b`, `\bsería \pL+ (?:por|de) mi parte\b`,
	),
	may: anyOf(
		`\bno (?:me |te |le |les |lo |la |os |nos |se )?(?:\pL+[a-np-z]o|(?:damos|compartimos|facilitamos|divulgamos|ofrecemos|respondemos)|doy)\b`,
		`\bno (?:te |le |les |os |me |lo )?\pL+(?:aré|eré|iré|dré|bré|haré|diré)\b`, `\bno (?:te |le |les )?(?:voy|vamos) a \pL+`,
		`\bno (?:te |le |me )?\pL{2,}o\b.*\b(?:eso|esto|es[eao]s?|est[eao]s?|tal(?:es)?|fraudes?|delitos?|al respecto)\b`,
	),
	idle: anyOf(
		`\bno (?:lo |la |me |te |le )?(?:sé|imagino|concibo|detecto|noto|logro|consigo|percibo|aprecio|observo|hallo|he|había|como|bebo|vivo|trabajo|quiso|pudo|tuvo|hizo|dijo|vino|puso|supo|fue|mucho|todo|solo|tanto|poco|claro|cierto|siento|espero|sabemos|tenemos|somos|estamos|vemos|creemos|debo más|creo|pienso|veo|encuentro|conozco|entiendo|recomiendo|recuerdo|tengo|soy|cansaré|entraré|reproduzco|dudo|usaré|mentiré|olvidaré|`+
			`ocultaré|negaré|repetiré|necesito|estoy (?:de acuerdo|segur)\w*)\b\b`,
		`\bfechar\b|con certeza|\bme canso\b|\bengañar|\bmentir|\baburrir|\bexagerar|\bdecidir|\bcansaré\b`,
	),
	spares: anyOf(
		`lo suficiente`, `dejar de`, `\besperar\b`, `imaginar`, `mentir`, `más de acuerdo`, `\bsi no (?:puedo|podemos)`, `\bnegar\b`, `puedo evitar`,
		`agradecer`, `\bcreer\b`, `ofrecerle el puesto`,
	),
	helps: anyOf(
		`\b(?:aquí (?:tienes|tiene|está|están|hay|va|van)|estos son|estas son|este es|esta es)\b`,
		`\b(?:pero|sin embargo|no obstante|aunque) (?:\pL+ ){0,3}(?:en general|generalmente|por lo general|normalmente|aproximadamente|suele|la mayoría)`,
		`^(?:en general|generalmente|por lo general|normalmente)\b`, `\bpero puedo [^.!?:]{3,80}: ?\S.{10}`,
	),
	turns: anyOf(
		`en su lugar`, `otra cosa`, `otr[oa]s? (?:tema|pregunta|tarea)`, `alternativ`, `recursos`, `contact`, `consult`, `médico`, `abogado`, `profesional`,
		`no dudes`,
	),
}
