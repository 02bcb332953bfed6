// Chapter: what seeing is worth (SPEC 10.4, with 9 in short).

const STATION = { text: "Where is the nearest station, please?", target: "de" };

export const chapter = {
  name: "seeing",
  title: { en: "What seeing is worth", zh: "看见，意味着什么" },
  steps: [
    {
      say: {
        en:
          "You have seen where heads look. That a head looks somewhere does not mean that the answer depends on " +
          "it: there are other heads, other layers, and the way around each of them.",
        zh: "您已经看到各个头在看哪里。一个头看着某处，并不说明答案就取决于它：还有别的头、别的层，以及绕过它们的通路。",
      },
      figure: { kind: "lines", ...STATION, rule: "bestAligning" },
    },
    {
      say: {
        en:
          "A better question: what happens without it? Each square is one head. The darker it is, the more " +
          "probability the translation loses when this head alone is switched off.",
        zh: "更好的问题是：没有它会怎样？每个方格是一个头。颜色越深，单独关掉这个头时，译文损失的概率越多。",
      },
      figure: { kind: "worth", ...STATION },
    },
    {
      exercise: {
        kind: "sharpestIsWorth",
        ask: {
          en: (place) =>
            `The head with the sharpest look, at the fewest tokens on average, is this: ${place}. ` +
            "Is it also the one the translation loses most without?",
          zh: (place) => `看得最集中、平均看的词元最少的头是：${place}。去掉它，译文的损失也最大吗？`,
        },
        figure: { kind: "worth", ...STATION },
      },
    },
    {
      say: {
        en:
          "Most squares are pale. The heads share their work, and when one is missing others step in. Which head " +
          "matters also changes from sentence to sentence. Try it in the view “Heads” with a sentence of your own.",
        zh: "大多数方格颜色都很浅。各个头分担工作，缺了一个，别的会顶上。哪个头重要，也随句子而变。在“注意力头”视图里用您自己的句子试试。",
      },
      figure: { kind: "worth", text: "I have lost my key.", target: "de" },
    },
    {
      say: {
        en:
          "Why did attention win? It computes all positions at once, where a recurrent network must go step by " +
          "step, and from any word to any other it is one step, however far apart they are. The price is that " +
          "every word is compared with every other: for n words of d numbers, n² · d multiplications against n · " +
          "d² of recurrence.",
        zh:
          "注意力为什么胜出？它能同时计算所有位置，而循环网络只能一步一步走；从任何一个词到另一个词，隔得再远也只有一步。代价是每个词都要和每个词比较：n 个词、每词 d 个数，要做约 n² · d " +
          "次乘法，循环网络则是 n · d² 次。",
      },
    },
    {
      say: {
        en:
          "That is the whole of it. All figures here were computed just now, by the model on your own machine. Go " +
          "to any view, type a sentence of your own, and look.",
        zh: "全部内容就是这些。这里的每一幅图，都是您机器上的模型刚刚算出来的。到任何一个视图，输入您自己的句子，去看吧。",
      },
    },
  ],
};
