// Chapter: why positions have a sine and a cosine (SPEC 4.2 and 9.3).

export const chapter = {
  name: "circle",
  title: { en: "Why sine and cosine", zh: "为什么要正弦和余弦" },
  steps: [
    {
      say: {
        en:
          "One wave of the table, its sine alone: it goes up and comes down again, so two positions within each " +
          "wave have the same height. A model that saw only the sine could not tell them apart.",
        zh: "先看位置表里的一个波，只看正弦：它升上去又落下来，所以每个波里都有两个位置高度相同。只看正弦，模型分不清它们。",
      },
      figure: { kind: "circle", position: 3, distance: 0 },
    },
    {
      exercise: {
        kind: "sameSine",
        ask: {
          en: (sine) => `Position 3 has the sine ${sine}. Which of these positions has almost the same?`,
          zh: (sine) => `位置 3 的正弦是 ${sine}。下面哪个位置的正弦几乎相同？`,
        },
        figure: { kind: "circle", position: 3, distance: 7 },
      },
    },
    {
      say: {
        en:
          "With the cosine beside it the position is a point on a circle, like the hand of a clock. The two that " +
          "had the same sine now stand on opposite sides. Within one turn no two positions are the same; the " +
          "slower waves tell the turns apart.",
        zh: "旁边再加上余弦，位置就成了圆上的一点，像钟的指针。刚才正弦相同的两个位置，现在一左一右。转一圈之内，没有两个位置相同；更慢的波再分清是第几圈。",
      },
      figure: { kind: "circle", position: 3, distance: 7 },
    },
    {
      say: {
        en:
          "And the second reason: to go on by some distance is to turn the hand by an angle, the same from " +
          "wherever one starts. The sine at the new place is a sum of sine and cosine at the old one, with " +
          "numbers that know the distance alone. From the sine by itself it cannot be had. Move the sliders: " +
          "both ways of computing agree.",
        zh: "还有第二个理由：往后移一段距离，就是让指针转过一个角，无论从哪里出发，转的角都一样。新位置的正弦，是旧位置的正弦和余弦之和，各乘一个数，这两个数只与距离有关。只有正弦就算不出。拖动滑块看看：两种算法结果一致。",
      },
      formula: "rotation",
      figure: { kind: "circle", position: 5, distance: 4 },
    },
    {
      say: {
        en:
          "So a matrix that a head has learned can mean “three to the left” everywhere in the sentence, also in " +
          "places that no training sentence was long enough to have.",
        zh: "所以，一个头学到的矩阵可以在句子的任何地方都表示“往左三个”，连训练时从未有过的那么靠后的位置也一样。",
      },
    },
  ],
};
