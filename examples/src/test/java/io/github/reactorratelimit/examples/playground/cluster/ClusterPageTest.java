package io.github.reactorratelimit.examples.playground.cluster;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.browser.Chromium;
import io.github.reactorratelimit.examples.browser.Page;
import io.github.reactorratelimit.examples.playground.Playground;
import io.github.reactorratelimit.testing.Await;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** The tab of the cluster in a real browser, with a real Redis, and so in real time. */
class ClusterPageTest {

    private static final String THROUGH = "Chart.getChart('cluster-through').data.datasets";

    private static Chromium browser;
    private static Playground playground;

    private Page page;

    @BeforeAll
    static void startAll() {
        browser = Chromium.start();
        playground = Playground.start("reactor-ratelimit.enabled=false");
    }

    @AfterAll
    static void stopAll() {
        if (playground != null) {
            playground.close();
        }
        if (browser != null) {
            browser.close();
        }
    }

    @BeforeEach
    void openPage() {
        browser = browser.orAnother();
        page = browser.newPage();
        page.look(1280, 900, "light");
        page.go(playground.url() + "/#cluster");
        page.until("the first frame", "window.cluster?.now() > 0");
    }

    @AfterEach
    void closePage() {
        List<String> complaints = page.complaints();
        page.close();
        Await.until(
                "the simulation ends with its page",
                () -> playground.bean(Simulations.class).size() == 0);
        RedisProcesses.awaitNone();
        assertThat(complaints).isEmpty();
    }

    private void click(String selector) {
        page.click(selector);
        heard();
    }

    private void heard() {
        page.until("the server has done it", "cluster.isHeard()");
    }

    private void startRedis() {
        click("#cluster-start");
        page.until("Redis is up", "cluster.redis() === 'up'");
        page.until("A and B are at work", "cluster.instances().every(({ arrived }) => arrived > 20)");
    }

    private void killRedis() {
        click("#cluster-kill");
        page.until("Redis is down", "cluster.redis() === 'down'");
        page.until("A and B know", "cluster.instances().every(({ isAlone }) => isAlone)");
    }

    private void untilSentence(String part) {
        page.until("the sentence", "document.getElementById('cluster-sentence').textContent.includes('" + part + "')");
    }

    /** A count of each instance. */
    private long count(int instance, String name) {
        return page.evaluate("cluster.instances()[" + instance + "]." + name).asLong();
    }

    private long figure(int row, int column) {
        String cell = "#cluster-figures tr:nth-child(" + row + ") td:nth-of-type(" + column + ")";
        return Long.parseLong(page.text(cell).replace(",", ""));
    }

    @Test
    void nothingRunsBeforeItIsAskedFor() {
        page.until("some frames", "cluster.now() > 500");

        assertThat(RedisProcesses.running()).isEmpty();
        assertThat(page.text("#cluster-sentence"))
                .startsWith("Two instances of an application share a limit of 20 a second");
        assertThat(page.text("#cluster-start")).isEqualTo("Start Redis");
        assertThat(page.evaluate("document.querySelectorAll('#panel-cluster button[aria-disabled=true]').length")
                        .asInt())
                .isEqualTo(2);
        assertThat(page.text("#cluster-code")).contains("TokenBucket.perSecond(20)");
        assertThat(page.nameless()).isEmpty();
    }

    /** Nothing ran before the page was opened: its lines show that, over the whole window. */
    @Test
    void opensWithTenSecondsOfHistory() {
        page.until("it is drawn", "cluster.isDrawn()");

        for (int line = 0; line < 4; line++) {
            JsonNode drawn = page.evaluate(THROUGH + "[" + line + "].data");
            assertThat(drawn.get(0).get("x").asDouble()).isLessThan(-10);
            assertThat(drawn.size()).isGreaterThan(100);
            for (JsonNode point : drawn) {
                assertThat(point.get("y").asDouble()).isEqualTo(line == 0 ? 20 : 0);
            }
        }
    }

    @Test
    void whatIsShownIsWhatTheLimitersCounted() {
        startRedis();
        killRedis();
        page.set("firstRate", 0);
        page.set("secondRate", 0);
        heard();
        page.until(
                "all is answered, and nothing came for a second",
                "cluster.instances().every((each) => each.arrived === each.allowed + each.denied) && cluster.isStill()");
        page.until("all is drawn", "cluster.isDrawn()");

        JsonNode totals = page.evaluate(
                "fetch('/api/cluster/' + cluster.simulation() + '/totals').then((answer) => answer.json())");
        for (int i = 0; i < 2; i++) {
            JsonNode counted = totals.get(i);
            assertThat(figure(i + 1, 1))
                    .isEqualTo(counted.get("allowed").asLong()
                            + counted.get("denied").asLong());
            assertThat(figure(i + 1, 2))
                    .isEqualTo(counted.get("allowed").asLong())
                    .isPositive();
            assertThat(figure(i + 1, 3)).isEqualTo(counted.get("denied").asLong());
            assertThat(figure(i + 1, 4))
                    .isEqualTo(counted.get("degraded").get("local").asLong())
                    .isPositive();
        }
        for (int column = 1; column <= 4; column++) {
            assertThat(figure(3, column)).isEqualTo(figure(1, column) + figure(2, column));
        }
    }

    /** Each point of a line is what was counted in the second before it: from second to second they add up to what the limiters counted. */
    @Test
    void theLinesAddUpToTheCounts() {
        startRedis();
        page.until("some seconds of it", "cluster.instances()[0].arrived > 80");
        JsonNode[] sums = new JsonNode[1];
        Await.until("all is drawn", () -> {
            sums[0] = page.evaluate("""
                    (() => {
                      if (!cluster.isDrawn()) return null;
                      const [limit, both, a, b] = %s.map((set) => set.data);
                      const samples = cluster.samples();
                      const secondBefore = (i) => {
                        const off = ({ x }) => Math.abs(both[i].x - 1 - x);
                        const older = both.findLastIndex(({ x }) => x <= both[i].x - 1 + 1e-9);
                        return older >= 0 && off(both[older + 1]) < off(both[older]) - 1e-9 ? older + 1 : older;
                      };
                      let drawn = 0;
                      let at = both.length - 1;
                      for (let next = secondBefore(at); next >= 0; at = next, next = secondBefore(at)) {
                        drawn += both[at].y * (both[at].x - both[next].x);
                      }
                      const allowed = (sample) => sample.instances[0].allowed + sample.instances[1].allowed;
                      return {
                        drawn: Math.round(drawn * 1e6) / 1e6,
                        counted: allowed(samples.at(-1)) - allowed(samples[at]),
                        wrong: both.filter((point, i) => Math.abs(point.y - a[i].y - b[i].y) > 1e-9).length,
                        limit: limit[0].y,
                      };
                    })()""".formatted(THROUGH));
            return sums[0].isObject();
        });

        assertThat(sums[0].get("counted").asLong()).isPositive();
        assertThat(sums[0].get("drawn").asDouble())
                .isEqualTo(sums[0].get("counted").asDouble());
        assertThat(sums[0].get("wrong").asInt()).isZero();
        assertThat(sums[0].get("limit").asInt()).isEqualTo(20);
    }

    @Test
    void aKilledRedisIsGoneEachInstanceTakesItsShareAndARestartedOneRulesAgain() {
        startRedis();
        untilSentence("Redis rules: A and B together were let through");
        assertThat(RedisProcesses.running()).hasSize(1);

        killRedis();
        assertThat(RedisProcesses.running()).isEmpty();
        untilSentence("Redis is away: each instance allows 10 a second of its own.");
        untilSentence("decisions were degraded.");
        page.until(
                "it is said aloud",
                "document.getElementById('cluster-announcer').textContent.startsWith('Redis is away')");
        page.until("the ground is tinted", THROUGH + "[4].data.at(-1).y === 1");
        assertThat(page.text("#cluster-start")).isEqualTo("Start Redis again");

        startRedis();
        untilSentence("Redis rules");
        assertThat(RedisProcesses.running()).hasSize(1);
    }

    @Test
    void closedLetsNothingThroughAndOpenEverything() {
        page.click("input[name=failure][value=closed]");
        heard();
        startRedis();
        killRedis();
        untilSentence("turns everything away");
        page.until("many were turned away", "cluster.instances().every(({ alone }) => alone > 10)");
        long allowed = count(0, "allowed") + count(1, "allowed");
        long alone = count(0, "alone");
        page.until("many more", "cluster.instances()[0].alone > " + (alone + 20));
        assertThat(count(0, "allowed") + count(1, "allowed")).isEqualTo(allowed);
        assertThat(page.text("#cluster-code")).contains("FailureMode.closed()");

        page.click("input[name=failure][value=open]");
        heard();
        untilSentence("lets everything through");
        page.until("all is let through", "cluster.instances()[0].allowed > " + (allowed + 5));
        long denied = count(0, "denied") + count(1, "denied");
        page.until("much more", "cluster.instances()[0].allowed > " + (allowed + 40));
        assertThat(count(0, "denied") + count(1, "denied")).isEqualTo(denied);
    }

    @Test
    void aFrozenRedisDoesNotAnswerAndThenRulesAgain() {
        startRedis();

        click("#cluster-freeze");

        untilSentence("Redis does not answer");
        untilSentence("Redis rules");
    }

    @Test
    void theLimitOfThePastStaysAsItWas() {
        page.until("some frames", "cluster.now() > 500");
        page.set("sharedRate", 55);
        heard();
        page.until("the new limit is drawn", THROUGH + "[0].data.at(-1).y === 55");

        assertThat(page.evaluate(THROUGH + "[0].data[0].y").asInt()).isEqualTo(20);
    }

    @Test
    void aFrozenPictureStandsStill() {
        page.until("some frames", "cluster.now() > 500 && cluster.isDrawn()");
        page.click("#cluster-hold");
        String picture = "JSON.stringify(" + THROUGH + ".map(({ data }) => data))"
                + " + document.getElementById('cluster-sentence').textContent"
                + " + document.getElementById('cluster-figures').textContent"
                + " + document.getElementById('cluster-code').textContent";
        String still = page.evaluate(picture).asString();

        page.set("sharedRate", 55);
        startRedis();
        assertThat(page.evaluate(picture).asString()).isEqualTo(still);
        assertThat(page.evaluate("document.getElementById('cluster-kill').ariaDisabled")
                        .asString())
                .isEqualTo("false");

        page.click("#cluster-hold");
        untilSentence("the limit is 55 a second");
        assertThat(page.text("#cluster-code")).contains("TokenBucket.perSecond(55)");
        page.until("the counts are shown", "document.querySelector('#cluster-figures td').textContent !== '0'");
    }

    @Test
    void redisEndsWithTheTabAndThenThereIsNone() {
        startRedis();

        page.click("#tab-replay");
        RedisProcesses.awaitNone();
        page.click("#tab-cluster");
        page.until("another simulation", "cluster.now() > 0 && cluster.simulation()");

        assertThat(page.text("#cluster-start")).isEqualTo("Start Redis");
        assertThat(RedisProcesses.running()).isEmpty();
    }

    @Test
    void everyDeedIsInReachOfTheKeys() {
        page.evaluate("document.getElementById('cluster-start').focus()");
        page.press(" ", 32);
        page.until("Redis is up", "cluster.redis() === 'up'");
        heard();
        assertThat(page.evaluate("document.activeElement.id").asString()).isEqualTo("cluster-start");

        page.evaluate("document.getElementById('cluster-kill').focus()");
        page.press(" ", 32);
        page.until("Redis is down", "cluster.redis() === 'down'");
        heard();
    }

    @ParameterizedTest
    @ValueSource(ints = {360, 768, 1280})
    void fitsIntoEveryWidth(int width) {
        page.look(width, 800, "dark");
        page.until("another frame", "cluster.isDrawn()");

        page.until("no wider than the window", "document.documentElement.scrollWidth <= " + width);
        assertThat(page.nameless()).isEmpty();
    }
}
