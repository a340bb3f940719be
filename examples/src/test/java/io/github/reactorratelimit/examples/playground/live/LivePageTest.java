package io.github.reactorratelimit.examples.playground.live;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.data.Offset.offset;

import io.github.reactorratelimit.examples.playground.MovingTab;
import io.github.reactorratelimit.examples.playground.Running;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** The first tab in a real browser, with the real limiters, in virtual time. */
class LivePageTest extends MovingTab {

    LivePageTest() {
        super("live", "playground");
    }

    @Override
    protected Running<?, ?> running() {
        return playground().bean(Simulations.class);
    }

    private void set(String name, Object value) {
        page().set(name, value);
    }

    /** Until all permits are back and nobody waits. */
    private void onlyClicks() {
        set("traffic", "clicks");
        set("maxWaitMillis", 9_900);
        heard();
        advance(Duration.ofSeconds(4));
    }

    private long figure(String name) {
        return Long.parseLong(page().text("#figure-" + name).replace(",", ""));
    }

    @Test
    void chartMovesWithTime() {
        advance(Duration.ofSeconds(1));
        drawn();
        String last = "Chart.getChart('requests').data.datasets[3].data";
        double before = page().evaluate(last + ".at(-1).x").asDouble();
        double height = page().evaluate(last + ".at(-1).y").asDouble();
        long arrived = figure("arrived");

        advance(Duration.ofSeconds(3));
        drawn();

        assertThat(figure("arrived")).isGreaterThanOrEqualTo(arrived + 30);
        assertThat(page().evaluate(last + ".find(({ y }) => y === " + height + ").x")
                        .asDouble())
                .isLessThan(before - 2);
    }

    @Test
    void departuresDrawnAreThoseThatTheLimitersCounted() {
        advance(Duration.ofSeconds(14));
        onlyClicks();

        for (JsonNode totals : page().evaluate(
                        "fetch('/api/live/' + playground.simulation() + '/totals').then((answer) => answer.json())")) {
            set("policy", totals.get("policy").asString());
            drawn();
            JsonNode marks = page().evaluate("playground.marks()");
            for (String what : List.of("left", "denied", "cancelled")) {
                int i = List.of("arrived", "left", "denied", "cancelled").indexOf(what);
                long drawn = marks.get("now").get(i).asLong()
                        + marks.get("gone").get(i).asLong();
                assertThat(drawn)
                        .as(what + " of " + totals)
                        .isEqualTo(totals.get(what).asLong());
            }
            assertThat(totals.get("left").asLong()).isPositive();
            assertThat(totals.get("left").asLong() + totals.get("denied").asLong())
                    .isEqualTo(page().evaluate("playground.arrived()").asLong());
        }
    }

    /** There is ink in the middle of each of them, which is far from all marks. */
    @Test
    void theWaysOfAllWhoLeftAreDrawn() {
        advance(FRAME);
        drawn();

        JsonNode ways = page().evaluate("""
                (() => {
                  const chart = Chart.getChart('requests');
                  const { width, height } = chart.canvas;
                  const { data } = chart.canvas.getContext('2d').getImageData(0, 0, width, height);
                  const alpha = (x, y) => data[4 * (Math.round(y) * width + Math.round(x)) + 3];
                  const points = chart.data.datasets[1].data;
                  const ways = { all: 0, drawn: 0 };
                  for (let i = 0; i < points.length; i += 3) {
                    const [from, to] = [points[i], points[i + 1]];
                    const x = chart.scales.x.getPixelForValue((from.x + to.x) / 2) * chart.currentDevicePixelRatio;
                    const y = chart.scales.y.getPixelForValue((from.y + to.y) / 2) * chart.currentDevicePixelRatio;
                    ways.all++;
                    if (alpha(x, y) || alpha(x - 1, y) || alpha(x + 1, y)) ways.drawn++;
                  }
                  return ways;
                })()""");

        assertThat(ways.get("all").asInt()).isGreaterThan(50);
        assertThat(ways.get("drawn")).isEqualTo(ways.get("all"));
    }

    @Test
    void delayingAtFiftyPerSecondShowsFiftyPerSecond() {
        set("policy", "leaky-bucket");
        set("rate", 50);
        set("queue", 500);
        set("maxWaitMillis", 10_000);
        set("traffic", "flood");
        heard();
        advance(Duration.ofSeconds(7));

        List<Double> times = new ArrayList<>();
        page().evaluate("playground.departures()").forEach(each -> times.add(each.asDouble()));
        List<Double> last = times.subList(times.size() - 250, times.size());
        for (int i = 1; i < last.size(); i++) {
            assertThat(last.get(i) - last.get(i - 1)).isEqualTo(20, offset(0.0011));
        }
        assertThat(page().text("#figure-rate")).isEqualTo("50");
    }

    @Test
    void cancellingHalfOfThoseWhoWaitMovesTheOthersUp() {
        onlyClicks();
        long leftBefore = figure("left");

        click("#click-many");
        click("#cancel");
        advance(Duration.ofMillis(600));

        assertThat(figure("waiting")).isZero();
        assertThat(figure("left")).isEqualTo(leftBefore + 15);
        drawn();
        assertThat(page().evaluate("playground.marks().now[3]").asLong()).isEqualTo(5);
    }

    @Test
    void aPausedLimiterLetsNobodyLeaveBeforeTheEndOfThePause() {
        onlyClicks();

        click("#pause");
        click("#click");
        advance(Duration.ofMillis(1_900));
        assertThat(figure("waiting")).isEqualTo(1);
        advance(Duration.ofMillis(200));

        assertThat(figure("waiting")).isZero();
    }

    @Test
    void rejectingLetsNobodyWait() {
        onlyClicks();
        long deniedBefore = figure("denied");
        page().click("input[name=mode][value=reject]");
        heard();

        click("#click-many");
        advance(FRAME);

        assertThat(figure("waiting")).isZero();
        assertThat(figure("denied")).isEqualTo(deniedBefore + 10);
        assertThat(page().text("#code")).contains(".reject()");
    }

    @Test
    void aChangedRateIsKeptFromThenOn() {
        set("traffic", "steady");
        set("trafficRate", 120);
        set("rate", 100);
        heard();
        advance(Duration.ofSeconds(7));
        assertThat(page().text("#figure-rate")).isEqualTo("100");

        set("rate", 25);
        heard();
        advance(Duration.ofSeconds(7));

        assertThat(page().text("#figure-rate")).isEqualTo("25");
    }

    @Test
    void choosingACardShowsThatPolicyAndItsCode() {
        click("#lanes button:nth-child(4)");
        advance(FRAME);

        assertThat(page().text("#code")).contains("FixedWindow.of(20, Duration.ofSeconds(2))");
        assertThat(page().text("#sentence")).contains("a fixed window of 20 per 2 s");
        assertThat(page().evaluate("document.querySelector('[name=policy]').value")
                        .asString())
                .isEqualTo("fixed-window");
        assertThat(page().evaluate("document.querySelectorAll('.lane[aria-pressed=true]').length")
                        .asInt())
                .isEqualTo(1);
    }

    @Test
    void aFrozenPictureStandsStill() {
        advance(Duration.ofSeconds(1));
        page().click("#freeze");
        String picture = "JSON.stringify(Chart.getChart('requests').data.datasets[3].data)"
                + " + document.getElementById('sentence').textContent"
                + " + document.getElementById('figures').textContent"
                + " + document.getElementById('code').textContent"
                + " + [...document.querySelectorAll('.lane')].map((lane) => lane.ariaPressed)";
        String still = page().evaluate(picture).asString();

        set("rate", 33);
        click("#lanes button:nth-child(2)");
        advance(Duration.ofSeconds(3));

        assertThat(page().evaluate(picture).asString()).isEqualTo(still);

        page().click("#freeze");
        drawn();
        assertThat(page().text("#sentence")).contains("GCRA of 33 a second");
        assertThat(page().text("#code")).contains("Gcra.perSecond(33)");
        assertThat(page().text(".lane[aria-pressed=true] .name")).isEqualTo("GCRA");
        assertThat(page().evaluate(picture).asString()).isNotEqualTo(still);
    }

    @Test
    void allChartsTakeTheColoursOfTheTheme() {
        advance(Duration.ofSeconds(4));
        drawn();
        String small = "#lanes button:nth-child(%d) canvas";
        for (int i = 1; i <= 7; i++) {
            String lane = small.formatted(i);
            page().until(
                            "small chart " + i + " is drawn",
                            "Chart.getChart(document.querySelector('" + lane
                                    + "')).data.datasets[0].data.some((left) => left > 0)");
            assertThat(page().ink(lane, DEFAULT_COLOURS.get(0))).as(lane).isZero();
        }

        assertThemeIsFollowed(
                "--left",
                "#requests",
                "#levels",
                small.formatted(1),
                small.formatted(2),
                small.formatted(3),
                small.formatted(4),
                small.formatted(5),
                small.formatted(6),
                small.formatted(7));
    }

    /** Chart.js does not move points that are out of sight: an area that began with one would be drawn across the picture. */
    @Test
    void theAreaOfPermitsLeftLiesUnderItsLine() {
        advance(Duration.ofSeconds(4));
        drawn();
        advance(Duration.ofSeconds(1));
        drawn();

        assertThat(page().evaluate("""
                (() => {
                  const chart = Chart.getChart('levels');
                  const { data } = chart.data.datasets[0];
                  const isElsewhere = ({ x }, index) => Math.abs(x - chart.scales.x.getPixelForValue(data[index].x)) > 1;
                  return chart.getDatasetMeta(0).data.filter(isElsewhere).length;
                })()""").asInt()).isZero();
    }

    @Test
    void opensWithTenSecondsOfHistory() {
        drawn();

        assertThat(now()).isGreaterThanOrEqualTo(10_000);
        assertThat(page().evaluate("Chart.getChart('requests').data.datasets[3].data[0].x")
                        .asDouble())
                .isLessThan(-9);
        assertThat(page().evaluate("Chart.getChart('levels').data.datasets[0].data.length")
                        .asInt())
                .isGreaterThanOrEqualTo(100);
        assertThat(figure("left")).isGreaterThan(50);
        assertThat(page().text("#figure-rate")).isNotEqualTo("–");
    }

    /** The simulation is asked for, and the person is quicker than its first word. */
    @Test
    void whatIsChangedBeforeTheSimulationBeginsIsNotLost() {
        page().click("#tab-replay");
        page().until("the simulation is given up", "playground.simulation() === null");
        page().evaluate("""
                (() => {
                  const real = window.fetch;
                  window.fetch = (url, options) => url === '/api/live'
                    ? new Promise((answered) => (window.begin = () => answered(real(url, options))))
                    : real(url, options);
                })()""");
        page().click("#tab-live");
        page().until("the simulation is asked for", "window.begin");
        set("rate", 77);
        page().until(
                        "the person has let go",
                        "document.getElementById('announcer').textContent.includes('77 a second')");

        page().evaluate("window.begin()");
        page().until("the simulation has begun", "playground.simulation()");
        heard();
        advance(FRAME);

        assertThat(page().text("#code")).contains("perSecond(77)");
    }

    @ParameterizedTest
    @ValueSource(ints = {320, 360, 390})
    void everyTabIsInSightOnAPhone(int width) {
        page().look(width, 800, "light");

        page().until(
                        "no tab is cut",
                        "[...document.querySelectorAll('[role=tab]')].every((tab) => {"
                                + " const { left, right } = tab.getBoundingClientRect(); return left >= 0 && right <= "
                                + width + "; })");
        assertThat(page().evaluate("document.querySelector('[role=tablist]').scrollWidth <="
                                + " document.querySelector('[role=tablist]').clientWidth")
                        .asBoolean())
                .isTrue();
    }

    @Test
    void everythingToUseHasAName() {
        assertThat(page().nameless()).isEmpty();
    }

    @Test
    void tabsAreReachedByKeys() {
        page().evaluate("document.getElementById('tab-live').focus()");
        page().press("ArrowRight", 39);
        page().until("the other tab", "!document.getElementById('panel-fragile').hidden");
        assertThat(page().evaluate("document.activeElement.id").asString()).isEqualTo("tab-fragile");
        page().until("the simulation is given up", "playground.simulation() === null");

        page().press("Home", 36);
        page().until("the first tab", "!document.getElementById('panel-live').hidden");
        page().until("a new simulation", "playground.simulation()");
    }

    @ParameterizedTest
    @ValueSource(ints = {360, 768, 1280})
    void fitsIntoEveryWidth(int width) {
        page().look(width, 800, "light");
        advance(FRAME);

        page().until("no wider than the window", "document.documentElement.scrollWidth <= " + width);
    }

    @Test
    void followsTheSchemeOfTheSystemUntilOneIsChosen() {
        String background = "getComputedStyle(document.body).backgroundColor";
        String light = page().evaluate(background).asString();
        page().look(1280, 900, "dark");
        page().until("dark", background + " !== '" + light + "'");

        page().click("#theme");

        page().until("light again", background + " === '" + light + "'");
        assertThat(page().evaluate("document.getElementById('theme').getAttribute('aria-pressed')")
                        .asString())
                .isEqualTo("false");
        page().evaluate("localStorage.clear()");
    }
}
