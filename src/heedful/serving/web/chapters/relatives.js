// Chapter: one label, or the next symbol (SPEC 7 and 8.1).

export const chapter = {
  name: "relatives",
  title: { en: "One half is enough: labels and texts", zh: "一半就够：分类与续写" },
  steps: [
    {
      say: {
        en:
          "Not every task needs both halves. To say whether a review is friendly, the encoder alone will do: its " +
          "blocks make a list of numbers for each word, the average of all of them stands for the text, and one " +
          "matrix turns it into a score for each label.",
        zh: "不是每个任务都需要两半。要判断一条评论是褒是贬，只用编码器就行：各层给每个词算出一组数，所有词的平均代表整段文字，再由一个矩阵变成每个标签的分数。",
      },
      figure: { kind: "pooling", text: "What a warm and clever film" },
    },
    {
      say: {
        en:
          "An average does not know about order, and without positions attention does not either: shuffle the " +
          "words, and such a classifier answers exactly the same. With positions it can tell “not good, but short” " +
          "from “short, but not good”.",
        zh: "平均不分先后，没有位置的注意力也不分：把词打乱，这样的分类器给出的回答一模一样。有了位置，它才能分清“不好，但是短”和“短，但是不好”。",
      },
    },
    {
      say: {
        en:
          "The decoder alone, without a source, is a language model: it sees what stands before and says what " +
          "comes next. Draw one of its suggestions, append it, ask again, and it writes.",
        zh: "只用解码器、不要原文，就是语言模型：它看着前面的文字，说出接下来是什么。从它的建议里抽一个接上去，再问，它就写起来了。",
      },
    },
    {
      say: {
        en:
          "How one draws decides how it sounds. Low temperature prefers what is probable anyway, high temperature " +
          "gives rare things a chance; top-k and top-p leave the improbable rest away. The figure shows it with " +
          "the translator's decoder, which has a source as well.",
        zh: "怎么抽，决定它写成什么样。温度低，更偏向本来就可能的；温度高，少见的也有机会；top-k 和 top-p 则把不太可能的尾巴去掉。图里用的是翻译模型的解码器，它还多一份原文。",
      },
      formula: "temperature",
      figure: { kind: "temperature", text: "He made up his mind to become a doctor.", target: "de", step: 1 },
    },
    {
      say: {
        en:
          "A small one of each ships with Heedful and can be tried in the views “Classify” and “Write”. Both were " +
          "trained on a processor within the hour; Heedful trains others from your own texts.",
        zh: "Heedful 自带这两种模型各一个小的，可以在“分类”和“续写”视图里试用。它们都是用普通处理器在一小时内训练出来的；您也可以用自己的文本训练别的。",
      },
    },
  ],
};
