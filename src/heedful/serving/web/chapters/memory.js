// Chapter: Transformer-XL (SPEC 8.2).

export const chapter = {
  name: "memory",
  title: { en: "A memory for long texts", zh: "长文本的记忆" },
  steps: [
    {
      say: {
        en:
          "Attention compares everything with everything, so twice the length costs four times the work. A long " +
          "text is therefore read in segments. Then the first words of each segment know nothing of what stood " +
          "before.",
        zh: "注意力让每个词和每个词比较，长度加倍，计算量就是四倍。所以长文本要分段来读。可这样一来，每一段开头的词就不知道前面写过什么了。",
      },
      figure: { kind: "memory" },
    },
    {
      say: {
        en:
          "Transformer-XL keeps what each layer computed for the last segment and lets the next one look at it. " +
          "Nothing is computed twice, and nothing is learned through the memory: it is read, not changed.",
        zh: "Transformer-XL 把每一层为上一段算出的结果留下来，让下一段也能看到。什么都不用算两遍，学习也不穿过记忆：它只供读取，不会被改动。",
      },
    },
    {
      say: {
        en:
          "Each layer reaches one memory further back, since what it remembers has itself looked into its memory. " +
          "With a memory as long as a segment, the reach is the number of layers times that length.",
        zh: "每多一层，就能多往回够一段记忆，因为记住的内容当初也看过它自己的记忆。如果记忆和一段一样长，能够到的距离就是层数乘以这个长度。",
      },
    },
    {
      exercise: {
        kind: "reach",
        ask: {
          en: () =>
            "A model has 12 layers and remembers 64 symbols. From how many symbols before its segment can it hear " +
            "at most?",
          zh: () => "一个模型有 12 层，记忆 64 个符号。它最多能听到本段之前多少个符号的消息？",
        },
        figure: { kind: "memory" },
      },
    },
    {
      say: {
        en:
          "One thing must change: if both segments count their places from 1, the fifth word here and the fifth " +
          "word there look the same. So positions become relative. The score asks how far apart two symbols are, " +
          "no longer where they stand.",
        zh: "有一处必须改：如果两段都从 1 开始数位置，这一段的第五个词和那一段的第五个词就分不清了。所以位置改成相对的：分数只问两个符号相隔多远，不再问它们各在哪里。",
      },
    },
  ],
};
