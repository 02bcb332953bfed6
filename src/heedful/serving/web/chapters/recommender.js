// Chapter: what a dot product says, before anybody attends (SPEC 3.2).

const VIEWER = [0.8, -0.5, 0.3];

export const chapter = {
  name: "recommender",
  title: { en: "A dot product recommends a film", zh: "点积会推荐电影" },
  steps: [
    {
      say: {
        en:
          "Describe a film by three numbers: how much action, romance and humour it has, from −1, the opposite, " +
          "to 1. Describe a viewer by three numbers of the same kind: how much of each the viewer likes.",
        zh: "用三个数描述一部电影：动作、爱情、幽默各有多少，从 −1（正相反）到 1。再用同样的三个数描述一位观众：每一样喜欢多少。",
      },
      figure: { kind: "taste", viewer: VIEWER },
    },
    {
      say: {
        en:
          "Multiply place by place and add. Much of what is liked adds to the sum, and so does little of what is " +
          "disliked: minus times minus is plus. What does not agree takes away. The sum is the dot product, and " +
          "the film with the largest one is recommended.",
        zh: "对应位置相乘，再加起来。喜欢的多，和就大；不喜欢的少，和也大，因为负负得正；不合口味的就往下扣。这个和就是点积，点积最大的电影就推荐给这位观众。",
      },
      formula: "dot",
    },
    {
      exercise: {
        kind: "recommended",
        ask: {
          en: (tastes) => `A viewer has the tastes ${tastes}. Which film gets the largest dot product?`,
          zh: (tastes) => `一位观众的口味是 ${tastes}。哪部电影的点积最大？`,
        },
        figure: { kind: "taste", viewer: [-0.7, 0.2, 0.9] },
      },
    },
    {
      say: {
        en:
          "Nobody has to write these numbers down. A recommender begins with random ones and changes them until " +
          "the products fit what people have really watched. What each place of a list then means, nobody has " +
          "said; often it has no name.",
        zh: "这些数不必由人填写。推荐系统从随机数开始，一点点调整，直到点积与人们真正看过的相符。学成之后，每个位置代表什么没有人规定过，往往也叫不出名字。",
      },
      figure: { kind: "taste", viewer: [0, 0, 0] },
    },
    {
      say: {
        en:
          "Attention is this recommender inside a sentence. The viewer is the token that looks, its list is " +
          "called the query; the films are the tokens it may look at, their lists are called keys. Both are " +
          "learned.",
        zh: "注意力就是句子内部的推荐系统。观众是正在看的词元，它的那组数叫查询；电影是可以被看的词元，它们的那组数叫键。两者都是学出来的。",
      },
    },
  ],
};
