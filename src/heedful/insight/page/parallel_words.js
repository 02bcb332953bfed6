// What the view of writing all positions at once says, in English and Chinese.

const PARALLEL_WORDS = {
  en: {
    pageTitle: "How this translation came about",
    other: "中文",
    title: "All positions at once",
    hint: "Every source token gets several positions; all of them speak in one pass, and none sees what another chose.",
    facts: ({ written, repeat, blank }, { positions, target }) => [
      ["positions", positions.length], ["blank", blank], ["repeats", repeat], ["written", written],
      ["passes", 1], ["passes step by step", target.tokens.length],
    ],
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
    outcome: "The translation, with the probability of each token",
    outcomeHint: "A token has the probabilities of its own positions and of the blanks before it.",
    logProb: "log-probability",
  },
  zh: {
    pageTitle: "这个译文是怎样产生的",
    other: "English",
    title: "所有位置一次写出",
    hint: "每个源词元得到几个位置；它们在同一遍里一起写，谁也看不到别人的选择。",
    facts: ({ written, repeat, blank }, { positions, target }) => [
      ["位置", positions.length], ["空白", blank], ["重复", repeat], ["写出", written],
      ["遍数", 1], ["逐步写要的遍数", target.tokens.length],
    ],
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
    outcome: "译文和每个词元的概率",
    outcomeHint: "一个词元的概率由它自己的位置和它前面的空白相乘而得。",
    logProb: "对数概率",
  },
};

export const parallelWords = (language) => PARALLEL_WORDS[language];
