// What the view of writing all positions at once says, in English and Chinese.

const PARALLEL_WORDS = {
  en: {
    pageTitle: "How this translation came about",
    other: "中文",
    title: "All positions at once",
    hint: "Every source token gets several positions; all of them speak in one pass, and none sees what another chose.",
    countedHint:
      "The encoder says how many target tokens each source token stands for; its copies become these, all at once.",
    facts: ({ written, repeat, blank }, { fates, fertilities }) => [
      ["positions", fates.length], ...(fertilities ? [] : [["blank", blank], ["repeats", repeat]]),
      ["written", written], ["passes of the decoder", 1], ["step by step", written + 1],
    ],
    fertility: (told) => `how probable which number of target tokens is: ${told}`,
    candidates: "Other numbers were drawn as well, and a model that writes step by step chose among what came of them.",
    candidate: "output",
    counts: "tokens for each source token",
    score: "score",
    momentLabel: "moment",
    moment: (moment, layers) =>
      ({
        copies: "each position begins as a copy of its source token",
        merged: "repeats of a token are merged",
        collapsed: "blanks are dropped: what remains is the translation",
      })[moment] ?? `what positions would say after layer ${moment + 1} of ${layers}`,
    blank: "blank",
    fates: {
      written: "written", repeat: "repeats the token before, merged", blank: "blank, dropped", end: "the end",
      unread: "after the end, not read",
    },
    outcome: "What that makes",
    outcomeHint: "A token has the probabilities of its own positions and of the blanks before it.",
    logProb: "log-probability",
  },
  zh: {
    pageTitle: "这个译文是怎样产生的",
    other: "English",
    title: "所有位置一次写出",
    hint: "每个源词元得到几个位置；它们在同一遍里一起写，谁也看不到别人的选择。",
    countedHint: "编码器说出每个源词元对应几个目标词元，它的副本就一次变成这些词元。",
    facts: ({ written, repeat, blank }, { fates, fertilities }) => [
      ["位置", fates.length], ...(fertilities ? [] : [["空白", blank], ["重复", repeat]]),
      ["写出", written], ["解码遍数", 1], ["逐步写要的遍数", written + 1],
    ],
    fertility: (told) => `对应几个目标词元的概率：${told}`,
    candidates: "还抽取了别的数目，由一个逐步写的模型从得到的译文中挑选。",
    candidate: "译文",
    counts: "每个源词元对应的个数",
    score: "得分",
    momentLabel: "时刻",
    moment: (moment, layers) =>
      ({
        copies: "每个位置开始时是源词元的副本",
        merged: "重复的词元合并",
        collapsed: "去掉空白：剩下的就是译文",
      })[moment] ?? `第 ${moment + 1} 层之后各位置会写什么（共 ${layers} 层）`,
    blank: "空白",
    fates: {
      written: "写出", repeat: "与前一个重复，合并", blank: "空白，去掉", end: "结束", unread: "在结束之后，不读",
    },
    outcome: "由此写出",
    outcomeHint: "一个词元的概率由它自己的位置和它前面的空白相乘而得。",
    logProb: "对数概率",
  },
};

export const parallelWords = (language) => PARALLEL_WORDS[language];
