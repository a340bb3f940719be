package io.github.reactorratelimit.examples.playground.fragile;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.playground.MovingTab;
import io.github.reactorratelimit.examples.playground.Running;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** The second tab in a real browser, with the real limiters, in virtual time. */
class FragilePageTest extends MovingTab {

    private static final String GOODPUT = "Chart.getChart('fragile-goodput').data.datasets";

    FragilePageTest() {
        super("fragile", "fragile");
    }

    @Override
    protected Running<?, ?> running() {
        return playground().bean(Simulations.class);
    }

    private void set(String name, Object value) {
        page().set("#fragile-controls", name, value);
    }

    /** Until nothing comes, and nobody waits. */
    private void onlyClicks() {
        set("traffic", "clicks");
        heard();
        advance(Duration.ofSeconds(6));
    }

    private String figure(String side, String name) {
        return page().text("#fragile-" + side + "-" + name).replace(",", "");
    }

    private String sentence() {
        return page().text("#fragile-sentence");
    }

    private double last(int line) {
        return page().evaluate(GOODPUT + "[" + line + "].data.at(-1).y").asDouble();
    }

    @ParameterizedTest
    @CsvSource({
        "refuses, leaky-bucket, never",
        "slows-down, concurrency, again",
        "fails, adaptive, never",
        "refuses, retry-after, again"
    })
    void whatIsDrawnIsWhatServersAndLimiterCounted(String breaks, String shape, String retries) {
        set("breaks", breaks);
        set("shape", shape);
        set("retries", retries);
        set("maxWaitMillis", 1_000);
        set("traffic", "steady");
        set("trafficRate", 70);
        heard();
        advance(Duration.ofSeconds(15));
        onlyClicks();
        drawn();

        JsonNode totals = page().evaluate(
                        "fetch('/api/fragile/' + fragile.simulation() + '/totals').then((answer) => answer.json())");
        for (int side = 0; side < 2; side++) {
            JsonNode marks = page().evaluate("fragile.marks()[" + side + "]");
            List<Long> drawn = new ArrayList<>();
            for (int kind = 0; kind < 5; kind++) {
                drawn.add(marks.get("now").get(kind).asLong()
                        + marks.get("gone").get(kind).asLong());
            }
            JsonNode server = totals.get(side).get("server");
            assertThat(drawn.get(0)).as("good").isEqualTo(server.get("answered").asLong());
            assertThat(drawn.get(3))
                    .as("turned away")
                    .isEqualTo(totals.get(side).get("denied").asLong());
            assertThat(drawn.get(4)).as("sent").isEqualTo(server.get("received").asLong());
            assertThat(drawn.subList(0, 4).stream().mapToLong(each -> each).sum())
                    .as("all calls end")
                    .isEqualTo(page().evaluate("fragile.wanted()").asLong());
            assertThat(drawn.get(0)).isPositive();
            if ("never".equals(retries)) {
                assertThat(drawn.get(1))
                        .as("refused")
                        .isEqualTo(server.get("refused").asLong());
                assertThat(drawn.get(2))
                        .as("failed")
                        .isEqualTo(server.get("failed").asLong()
                                + server.get("late").asLong());
            }
        }
    }

    @Test
    void theChartsHaveTheSameAxisAndMoveWithTime() {
        advance(Duration.ofSeconds(3));
        drawn();
        String bars = "Chart.getChart('fragile-without').data.datasets[0].data";
        int tall = page().evaluate(bars + ".findLastIndex(({ y }) => y > 0)").asInt();
        double before = page().evaluate(bars + "[" + tall + "].x").asDouble();

        advance(Duration.ofSeconds(2));
        drawn();

        assertThat(page().evaluate(bars + ".some(({ x, y }) => y > 0 && Math.abs(x - " + before + " + 2) < 0.15)")
                        .asBoolean())
                .isTrue();
        assertThat(page().evaluate("Chart.getChart('fragile-without').scales.y.max")
                        .asDouble())
                .isEqualTo(page().evaluate("Chart.getChart('fragile-with').scales.y.max")
                        .asDouble())
                .isGreaterThanOrEqualTo(120);
    }

    @Test
    void aBurstIsRefusedOnTheLeftAndWaitsForItsTurnOnTheRight() {
        onlyClicks();
        long goodBefore = Long.parseLong(figure("with", "good"));
        long refusedBefore = Long.parseLong(figure("without", "refused"));

        click("#fragile-burst");
        advance(FRAME);
        assertThat(figure("with", "waiting")).isEqualTo("46");
        assertThat(figure("without", "waiting")).isEqualTo("0");
        advance(Duration.ofMillis(1_900));

        assertThat(figure("without", "refused")).isEqualTo(String.valueOf(refusedBefore + 39));
        assertThat(figure("with", "good")).isEqualTo(String.valueOf(goodBefore + 50));
        assertThat(figure("with", "waiting")).isEqualTo("0");
        assertThat(figure("with", "half")).isEqualTo("700 ms");
        assertThat(figure("with", "most")).isEqualTo("1.3 s");
        advance(Duration.ofSeconds(1));
        assertThat(sentence())
                .contains("78 % of the calls are refused")
                .contains("a leaky bucket of 40 a second, every call is answered well, half of them within 700 ms");
    }

    @Test
    void goodAnswersOfBothSidesAreOnOneAxis() {
        set("breaks", "fails");
        set("traffic", "steady");
        set("trafficRate", 60);
        set("maxWaitMillis", 500);
        heard();
        advance(Duration.ofSeconds(8));
        drawn();

        assertThat(last(0)).as("capacity").isEqualTo(40);
        assertThat(last(2)).as("without").isZero();
        assertThat(last(3)).as("with").isBetween(39.0, 40.0);
        assertThat(figure("with", "rate")).isIn("39", "40");
        assertThat(sentence())
                .contains("Without a limiter, nothing is answered well: all calls fail.")
                .contains("every call that is sent is answered well")
                .contains("of the calls are turned away, not sent");
    }

    @Test
    void theLimitFoundFollowsTheServerThroughABadMoment() {
        set("shape", "adaptive");
        set("traffic", "steady");
        set("trafficRate", 120);
        set("maxWaitMillis", 500);
        heard();
        advance(Duration.ofSeconds(14));
        drawn();
        double before = last(1);
        assertThat(before).isGreaterThan(25);

        click("#fragile-bad");
        advance(Duration.ofSeconds(7));
        drawn();
        assertThat(last(0)).isEqualTo(20);
        assertThat(last(1)).isLessThan(before).isLessThanOrEqualTo(30);
        assertThat(sentence())
                .startsWith("The server has a bad moment and can do only 20 a second.")
                .contains("an adaptive limit, now ");

        advance(Duration.ofSeconds(2));
        drawn();
        assertThat(last(0)).isEqualTo(40);
    }

    @Test
    void thereIsNoLineOfALimitThatWasGiven() {
        advance(Duration.ofSeconds(1));
        drawn();

        assertThat(page().evaluate(GOODPUT + "[1].data.every(({ y }) => Number.isNaN(y))")
                        .asBoolean())
                .isTrue();
    }

    @Test
    void whatIsSeenIsAnnouncedNowAndThen() {
        page().evaluate("""
                window.announcements = [];
                new MutationObserver(() => announcements.push(document.getElementById('fragile-announcer').textContent))
                  .observe(document.getElementById('fragile-announcer'), { childList: true, characterData: true, subtree: true });
                """);
        advance(Duration.ofSeconds(15));
        assertThat(page().evaluate("announcements.length").asInt()).isBetween(1, 2);

        set("shape", "concurrency");
        heard();
        advance(Duration.ofSeconds(5));

        assertThat(page().evaluate("announcements.at(-1)").asString()).contains("a limit of 4 at a time");
        assertThat(page().evaluate("announcements.length").asInt()).isBetween(2, 3);
    }

    @Test
    void theCodeIsThatOfWhatIsChosen() {
        set("shape", "adaptive");
        set("retries", "again");
        set("maxWaitMillis", 700);
        heard();
        advance(FRAME);

        assertThat(page().text("#fragile-code"))
                .contains("AdaptiveRate.gradient(")
                .contains("limitCalls(Duration.ofMillis(700))")
                .contains("RateLimitRetry.atMost(3)");
        assertThat(page().evaluate("document.getElementById('fragile-set-rate').closest('.slider').hidden")
                        .asBoolean())
                .isTrue();
    }

    @Test
    void aFrozenPictureStandsStill() {
        advance(Duration.ofSeconds(1));
        page().click("#fragile-freeze");
        String picture = "JSON.stringify(Chart.getChart('fragile-with').data.datasets[0].data)"
                + " + document.querySelector('#panel-fragile .sides').innerText"
                + " + document.getElementById('fragile-sentence').textContent"
                + " + document.getElementById('fragile-code').textContent";
        String still = page().evaluate(picture).asString();

        set("shape", "concurrency");
        heard();
        advance(Duration.ofSeconds(3));

        assertThat(page().evaluate(picture).asString()).isEqualTo(still);
        assertThat(page().evaluate("document.getElementById('fragile-freeze').getAttribute('aria-pressed')")
                        .asString())
                .isEqualTo("true");

        page().click("#fragile-freeze");
        drawn();
        assertThat(sentence()).contains("a limit of 4 at a time");
        assertThat(page().text("#fragile-code")).contains("ConcurrencyLimit.of(4)");
        assertThat(page().evaluate(picture).asString()).isNotEqualTo(still);
    }

    @Test
    void theServerIsSetByKeysAlone() {
        page().evaluate("document.getElementById('fragile-set-capacity').focus()");
        page().press("ArrowRight", 39);
        heard();
        advance(FRAME);
        drawn();

        assertThat(page().evaluate("document.activeElement.getAttribute('aria-valuetext')")
                        .asString())
                .isEqualTo("41");
        assertThat(last(0)).isEqualTo(41);
    }

    @Test
    void everythingToUseHasAName() {
        assertThat(page().nameless()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {360, 768, 1280})
    void fitsIntoEveryWidth(int width) {
        page().look(width, 800, "light");
        advance(FRAME);

        page().until("no wider than the window", "document.documentElement.scrollWidth <= " + width);
    }

    @Test
    void theBarsHaveTheColoursOfTheLegend() {
        advance(Duration.ofSeconds(3));
        drawn();

        for (String side : List.of("#fragile-without", "#fragile-with")) {
            assertThat(page().ink(side, "--left")).as(side).isGreaterThan(200);
            for (String colour : DEFAULT_COLOURS) {
                assertThat(page().ink(side, colour))
                        .as("%s in %s", colour, side)
                        .isZero();
            }
        }
        assertThat(page().ink("#fragile-without", "--denied")).isGreaterThan(200);
        assertThemeIsFollowed("--left", "#fragile-without", "#fragile-with", "#fragile-goodput");
    }

    @Test
    void opensWithTenSecondsOfHistory() {
        drawn();

        assertThat(now()).isGreaterThanOrEqualTo(10_000);
        assertThat(page().evaluate("Chart.getChart('fragile-without').data.datasets[0].data[0].x")
                        .asDouble())
                .isLessThan(-9);
        assertThat(page().evaluate(GOODPUT + "[3].data.length").asInt()).isGreaterThanOrEqualTo(100);
        assertThat(page().evaluate("fragile.wanted()").asInt()).isGreaterThanOrEqualTo(300);
    }

    @Test
    void theMarksTakeTheColoursOfTheScheme() {
        String good = "Chart.getChart('fragile-with').data.datasets[0].backgroundColor";
        String light = page().evaluate(good).asString();

        page().look(1280, 900, "dark");

        page().until("other colours", good + " !== '" + light + "'");
        assertThat(page().evaluate(good).asString())
                .isEqualTo(
                        page().evaluate("getComputedStyle(document.documentElement).getPropertyValue('--left').trim()")
                                .asString());
    }
}
