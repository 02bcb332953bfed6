// Chapter: what each part of a Transformer is worth, by leaving it out (SPEC 9; the paper's table 3).

const ROWS = { kind: "study", study: "ablation" };

export const chapter = {
  name: "parts",
  title: { en: "Leave one part out", zh: "去掉一个部分" },
  steps: [
    {
      say: {
        en:
          "Residual connections, warm-up, smoothing, positions: each has its reason, and a reason is a claim. The " +
          "way to find out is to train the same model again without it. Each row is one such training, several times " +
          "with other random numbers: a difference that is not larger than theirs says nothing.",
        zh: "残差、预热、平滑、位置：每一样都有它的理由，而理由只是主张。要弄清楚，就去掉它，把同一个模型重新训练一遍。每一行就是这样的训练，换不同的随机数各做几次：差别要是不比随机数造成的大，就什么也说明不了。",
      },
      figure: ROWS,
    },
    {
      exercise: {
        kind: "mostMissed",
        ask: {
          en: () => "Which of these does the model in the figure miss most?",
          zh: () => "图中的模型，去掉哪一样损失最大？",
        },
        figure: ROWS,
      },
    },
    {
      say: {
        en:
          "This is a small model on the small corpus of dates, times and amounts that heedful demo learns from, a " +
          "few hundred steps each. What it misses, a large one need not miss. heedful study ablation CONFIG does it " +
          "with your config and your data; open its report.json.",
        zh:
          "这是一个小模型，用的是 heedful demo 那个日期、时间和金额的小语料，每次只训练几百步。它离不开的，大模型未必离不开。heedful study ablation CONFIG 用您的配置和" +
          "数据来做；打开它的 report.json 即可。",
      },
      figure: ROWS,
    },
  ],
};
