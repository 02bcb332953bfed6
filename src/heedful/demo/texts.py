"""The texts that the demonstration shows whole: a letter, a piece of news and a technical text in four languages.

Written for this purpose, so nobody has learned from them; the four versions say the same. Then what is labelled, and
what is written on.
"""

LETTER = {
    "en": "Dear Anna, thank you for your letter. We arrived in Hamburg on Monday, and the weather is good. "
    "Next week we want to visit my brother, who lives near the sea.",
    "de": "Liebe Anna, danke für deinen Brief. Wir sind am Montag in Hamburg angekommen, und das Wetter ist gut. "
    "Nächste Woche wollen wir meinen Bruder besuchen, der in der Nähe des Meeres wohnt.",
    "fr": "Chère Anna, merci pour ta lettre. Nous sommes arrivés à Hambourg lundi, et il fait beau. "
    "La semaine prochaine, nous voulons rendre visite à mon frère, qui habite près de la mer.",
    "zh": "亲爱的安娜，谢谢你的来信。我们星期一到了汉堡，天气很好。下个星期我们想去看我的哥哥，他住在海边。",
}
NEWS = {
    "en": "The city council decided on Tuesday to build a new bridge across the river. The work will begin in spring "
    "and cost 40 million euros. Many residents had asked for it for years.",
    "de": "Der Stadtrat hat am Dienstag beschlossen, eine neue Brücke über den Fluss zu bauen. Die Arbeiten beginnen "
    "im Frühjahr und kosten 40 Millionen Euro. Viele Einwohner hatten seit Jahren darum gebeten.",
    "fr": "Le conseil municipal a décidé mardi de construire un nouveau pont sur le fleuve. Les travaux commenceront "
    "au printemps et coûteront 40 millions d'euros. De nombreux habitants le demandaient depuis des années.",
    "zh": "市议会星期二决定在河上建一座新桥。工程将在春天开始，费用为4000万欧元。许多居民多年来一直要求建这座桥。",
}
TECHNICAL = {
    "en": "Before you install the update, save your work and close all programs. If the server does not answer, check "
    "the network settings. The log file contains the error message.",
    "de": "Bevor Sie das Update installieren, speichern Sie Ihre Arbeit und schließen Sie alle Programme. Wenn der "
    "Server nicht antwortet, prüfen Sie die Netzwerkeinstellungen. Die Protokolldatei enthält die Fehlermeldung.",
    "fr": "Avant d'installer la mise à jour, enregistrez votre travail et fermez tous les programmes. Si le serveur ne "
    "répond pas, vérifiez les paramètres du réseau. Le fichier journal contient le message d'erreur.",
    "zh": "安装更新之前，请保存您的工作并关闭所有程序。如果服务器没有响应，请检查网络设置。日志文件包含错误信息。",
}
TEXTS = {"A letter": LETTER, "News": NEWS, "A technical text": TECHNICAL}

DIRECTIONS = (("en", "de"), ("en", "fr"), ("en", "zh"), ("de", "en"), ("fr", "en"), ("zh", "en"))

REVIEWS = (
    "A warm and clever film with wonderful actors.",
    "What a waste of two hours.",
    "The first half is slow and silly, but the ending moved me to tears.",
)
"""What the classifier decides about: two that are plain, and one that is not."""

BEGINNING = "The city was founded in"
"""What the language model writes on."""
