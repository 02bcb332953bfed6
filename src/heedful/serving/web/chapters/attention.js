// Chapter: looking back at the source (SPEC 2.2, and the cross-attention of 3.5).

const KEY = { text: "I have lost my key.", target: "de" };

export const chapter = {
  name: "attention",
  title: { en: "Looking back: attention", zh: "回头看：注意力" },
  steps: [
    {
      say: {
        en:
          "Somebody who translates looks back at the source again and again, each time at another place. Attention " +
          "lets a network do the same: at each step it gives every source token a weight, and what it reads is the " +
          "sum of all of them, each as much as its weight says.",
        zh: "人在翻译时会一次又一次回头看原文，每次看的地方都不一样。注意力让网络也能这样做：每一步，它给原文的每个词元一个权重，读到的内容就是所有词元按各自权重相加的和。",
      },
      figure: { kind: "lines", ...KEY, rule: "bestAligning", row: "Schlüssel" },
    },
    {
      say: {
        en:
          "The weights of one step are never negative and add up to 1. A weight of 1 means: only this token. Equal " +
          "weights mean: a little of everything.",
        zh: "同一步的权重都不小于零，加起来等于 1。某个权重是 1，意思是只看这个词元；权重全都相等，意思是什么都看一点。",
      },
      formula: "attention",
    },
    {
      say: {
        en:
          "Nobody told the model which German word belongs to which English word. It found out because looking at " +
          "the right place makes the next word easier to guess. The figure shows the head that does this most " +
          "clearly; a later chapter says what a head is.",
        zh: "没有人告诉过模型哪个德语词对应哪个英语词。它自己发现了这一点，因为看对了地方，下一个词就更容易猜中。图里画的是做得最清楚的那个头；什么是头，后面有一章专门讲。",
      },
      figure: { kind: "lines", ...KEY, rule: "bestAligning", row: "meinen" },
    },
    {
      exercise: {
        kind: "lookedAt",
        ask: {
          en: (word) =>
            `In German “lost” comes at the end of the sentence. Where will it look while it writes “${word}”?`,
          zh: (word) => `德语把“丢了”放在句末。写“${word}”的时候，它会看哪个词？`,
        },
        figure: { kind: "lines", ...KEY, rule: "bestAligning", row: "verloren" },
      },
    },
    {
      say: {
        en:
          "The lines cross: English says “lost my key”, German “my key lost”. To a network that reads in order, " +
          "the distance between the two would matter. To attention every place is equally near.",
        zh: "连线交叉了：英语的顺序是“lost my key”，德语却是“我的钥匙 丢了”。对按顺序读的网络来说，两者隔得多远是个问题；对注意力来说，哪里都一样近。",
      },
      figure: { kind: "lines", ...KEY, rule: "bestAligning" },
    },
  ],
};
