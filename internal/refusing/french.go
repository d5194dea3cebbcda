package refusing

const frTasks = `(?:aider|assister|fournir|donner|partager|répondre|écrire|rédiger|générer|créer|produire|accéder|satisfaire|traiter|participer|` +
	`divulguer|révéler|expliquer|poser|faire|dire|discuter|commenter|aborder|accomplir|exécuter|soutenir|encourager|proposer|communiquer|` +
	`prononcer|suivre|offrir|conseiller|exprimer|ouvrir|résumer|traduire|continuer|poursuivre|donner suite|apporter|effectuer|réaliser|` +
	`transmettre|afficher|parler|enseigner|montrer|prendre part|approuver|cautionner|promouvoir|composer|accepter|décrire|indiquer)`

var french = language{
	name: "French",
	states: anyOf(
		`\b(?:je|nous) ne (?:peux|pouvons|puis|saurais|saurions|pourrai|pourrais|vais|veux|voulons|souhaite|souhaitons|désire|dois)\b`+
			`(?: [\pL']+)*? (?:pas|ni|jamais|plus|rien|vous|t'|malheureusement)\b.*\b`+frTasks+`\b`,
		`\bje ne (?:saurais|puis) (?:vous |t')?`+frTasks+`\b`,
		`\b(?:je|nous) (?:ne|n') ?(?:vous |t'|te |y )?(?:ferai|répondrai|donne|crée|fournis|génère|rédige|écris|aide|aiderai|participe|participerai|partage|`+
			`écrirai|fournirai|donnerai|discute|réponds|produis|traite)\b(?: \pL+)*? (?:pas|jamais|aucun\w*)\b`,
		`\b(?:je|nous) (?:ne )?(?:suis|sommes) (?:\pL+ )?(?:pas|point) (?:\pL+ )?(?:en mesure|autorisée?|capable|habilitée?|disposée?|prête?|à l'aise|programmée?|disposée?|conçue?)`,
		`\bje n'apporte (?:pas|aucune)\b`, `\bje ne peux pas \pL+ de (?:courriels?|messages?|liens?|e-mails?)`,
		`\bje (?:me )?dois (?:de )?(?:refuser|dire non)\b|\bje passe mon tour\b|\bje m'interdis\b|\bje suis au regret de ne\b`,
		`\b(?:cela|ça|ceci)(?: \pL+)* ne m'est pas (?:\pL+ )?possible|\bdépasse ce que je peux\b`, `\bje ne suis (?:\pL+ )?pas (?:fait|là) pour\b`,
		`\bpeur de ne pas pouvoir\b`, `\bj'ai (?:pour |reçu )?(?:la |des |l')?(?:consigne|instruction|ordre)s? de ne pas\b`, `\b(?:sort du cadre|au-delà) de ce que je\b`,
		`\bje ne me sens pas\b`, `\bil serait \pL+ de ma part\b|\bne m'appartient pas\b|\bje ne puis\b`, `\bje dis non\b|\bje dois (?:m'arrêter|arrêter)\b|\bquelque chose que je ne\b`,
		`\bje suis dans l'(?:impossibilité|incapacité)`, `\bje suis incapable de`,
		`\bil (?:ne )?m'est (?:\pL+ )?(?:impossible|interdit|pas (?:\pL+ )?(?:possible|permis|autorisé))`,
		`\b(?:pas )?possible pour moi\b`, `\b(?:je|j')(?: \pL+)? ?(?:refuse|décline|m'abstiens|m'abstiendrai)\b`,
		`\bje (?:me vois|dois|vais devoir|suis obligée?|suis contrainte?)(?: \pL+)* (?:de )?(?:refuser|décliner)\b`,
		`\bje préf(?:ère|érerais) ne pas\b`, `\bje n'ai pas (?:le droit|l'autorisation|la possibilité|la permission)\b`,
		`\b(?:à l'encontre de|contraires? à|enfreint|viole|contrevient à|contreviennent à|incompatible avec) (?:\pL+ )?(?:mes|ma|nos|notre)\b`,
		`\b(?:mes|ma|nos|notre) (?:directives|programmation|règles|consignes|principes|politique) (?:ne )?(?:m'|me |nous |l')?(?:interdi\w+|permet\w*|autoris\w+|empêch\w+)`,
		`\b(?:irresponsable|inapproprié|contraire à l'éthique|déplacé|imprudent)\b.*\b(?:de ma part|que je|pour moi)\b`,
		`\bce n'est pas (?:quelque chose|une chose|un sujet|une demande)(?: \pL+)* (?:que|dont|à laquelle|auquel) je\b`,
		`\bje (?:regrette|suis désolée?|m'excuse)(?: \pL+)* de ne (?:pas )?pouvoir\b`, `\b(?:regrette|désolée?|navrée?) de ne pas pouvoir\b`,
	),
	may: anyOf(
		`\b(?:je|nous) (?:ne |n')(?:[\pL']+ ){0,3}?(?:pas|jamais|aucun\w*|rien|ni)\b`,
		`\bje (?:ne |n')(?:en |y |vous |t'|me )?\pL+rai (?:pas|jamais|plus|aucun\w*)\b`,
		`\b(?:je|nous) (?:ne |n')(?:en |y |vous |t'|me |m')?\pL+ (?:pas|jamais|aucun\w*|rien)\b.*\b(?:ça|cela|ceci|ce (?:genre|type|jeu|sujet|point)|cette|ces|tels?|telles?|à ce sujet)\b`,
	),
	idle: anyOf(
		`\b(?:je|nous) (?:ne |n')(?:\pL+[ '])?(?:sais|savais|pense|crois|vois|trouve|comprends|connais|recommande|souviens|ai|avons|avais|aurais|suis|sommes|serais|conçois|décèle|détecte|remarque|`+
			`imagine|inquiéterais|arrive|parviens|mange|bois|vis|travaille|attendais|regrette|sens|veux que|peux que|manque|parle pas|cesse|entends|constate|acceptons|prenons|vendons|livrons|`+
			`répéterai|entrerai|utiliserai|mentirai|oublierai|cacherai|reproduis|doute|dirais|aime)\b`, `\b(?:dater|avec certitude|affirmer|mentir|cacher|choisir|décider|croire|attendre|imaginer|nier|citer|tous|toutes)\b`,
	),
	spares: anyOf(
		`\bassez\b`, `\btrop vous recommander`, `imaginer`, `\battendre`, `plus d'accord`, `mentir`, `\bsi (?:je|nous)\b`, `\bnier\b`, `m'empêcher`,
		`ne (?:peux|peut) que\b`, `retenir votre candidature`, `\bpourquoi je\b`,
	),
	helps: anyOf(
		`\b(?:voici|voilà|en voici)\b`,
		`\b(?:mais|cependant|toutefois|néanmoins) (?:\pL+ ){0,3}(?:en général|généralement|en principe|habituellement|d'habitude|environ|la plupart|`+
			`de manière générale)`,
		`^(?:en général|généralement|en principe|habituellement)\b`, `\bmais je peux [^.!?:]{3,80} ?: ?\S.{10}`,
	),
	turns: anyOf(
		`plutôt`, `autre (?:chose|sujet|question|demande)`, `alternative`, `ressources`, `contacte`, `consulte`, `médecin`, `avocat`, `professionnel`,
		`n'hésite`, `à la place`,
	),
}
