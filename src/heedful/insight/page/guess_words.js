// What the view of speculation says, in English and Chinese.

const listed = (tokens) => tokens.map((token) => token.text.replaceAll("▁", " ")).join("").trim();

const GUESS_WORDS = {
  en: {
    title: "Guessing ahead",
    hint: "A drafter proposes, the model reads all of it in one pass and keeps what it would have written itself.",
    by: {
      own: "Guessed by the drafter in the model's folder.",
      lookup: "Guessed without a network: as the last two tokens went on before, in the source or in what is written.",
    },
    greedy: "Guesses are checked against greedy search, which writes:",
    facts: ({ passes, tokens, saved, guessed, accepted }) => [
      ["tokens", tokens], ["passes", passes], ["passes saved", saved], ["guesses", guessed], ["right", accepted],
    ],
    nothing: {
      own: "The drafter had no guess for this sentence, so every token took a pass of its own.",
      lookup:
        "Nothing here stood before, so nothing could be guessed and every token took a pass of its own. " +
        "Names, numbers and addresses are guessed well: they are written as they stand.",
    },
    pass: "pass",
    passOf: (number, count) => `pass ${number} of ${count}`,
    passNamed: (number, one) =>
      `pass ${number}: wrote “${listed(one.written)}”, ${one.numAccepted} of ${one.guessed.length} guesses right`,
    proposed: "Proposed",
    noGuess: "Nothing was proposed",
    writtenHere: "Written in this pass, with the model's probabilities",
    accepted: "guessed and accepted",
    wrong: "wrong, corrected",
    own: "the model's own choice",
    fates: {
      accepted: "accepted: the model writes the same",
      wrong: "wrong: the model writes something else",
      unread: "no longer looked at: what stands before it was wrong",
    },
  },
  zh: {
    title: "提前猜测",
    hint: "起草者提出几个词元，模型一遍读完，只保留自己也会写的。",
    by: {
      own: "由模型文件夹中的起草网络猜测。",
      lookup: "不用网络猜测：看最后两个词元以前在原文或已写部分中后面接着什么。",
    },
    greedy: "猜测以贪心搜索为准，它写的是：",
    facts: ({ passes, tokens, saved, guessed, accepted }) => [
      ["词元", tokens], ["遍数", passes], ["省去的遍数", saved], ["猜测", guessed], ["猜对", accepted],
    ],
    nothing: {
      own: "起草网络对这个句子没有猜测，所以每个词元都要单独算一遍。",
      lookup: "这里没有以前出现过的内容，无从猜测，所以每个词元都要单独算一遍。人名、数字和网址很好猜：它们原样照写。",
    },
    pass: "遍",
    passOf: (number, count) => `第 ${number} 遍，共 ${count} 遍`,
    passNamed: (number, one) =>
      `第 ${number} 遍：写出“${listed(one.written)}”，${one.guessed.length} 个猜测中猜对 ${one.numAccepted} 个`,
    proposed: "提出的猜测",
    noGuess: "没有提出猜测",
    writtenHere: "这一遍写出的词元和模型给的概率",
    accepted: "猜中，已接受",
    wrong: "猜错，已更正",
    own: "模型自己的选择",
    fates: {
      accepted: "接受：模型写的也是它",
      wrong: "猜错：模型写的是别的",
      unread: "不再看：它前面的已经猜错",
    },
  },
};

export const guessWords = (language) => GUESS_WORDS[language];
