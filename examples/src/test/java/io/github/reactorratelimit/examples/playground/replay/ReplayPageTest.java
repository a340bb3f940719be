package io.github.reactorratelimit.examples.playground.replay;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.browser.Chromium;
import io.github.reactorratelimit.examples.browser.Page;
import io.github.reactorratelimit.examples.playground.Playground;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The replay tab in a real browser. */
class ReplayPageTest {

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
        page.go(playground.url() + "/#replay");
        page.until("the tab is ready", "document.querySelectorAll('.policy').length === 2");
    }

    @AfterEach
    void closePage() {
        page.close();
    }

    private void untilReplayed() {
        page.until("there is a result", "document.querySelectorAll('#replay-table tbody tr').length > 0");
    }

    @Test
    void anExampleIsComparedAndShowsWhoWouldHaveBeenLimited() {
        page.click("#sample");
        untilReplayed();

        assertThat(page.evaluate("document.querySelectorAll('#replay-table tbody tr').length")
                        .asInt())
                .isEqualTo(2);
        assertThat(page.text("#replay-worst")).contains("192.0.2.66").contains("203.0.113.7");
        assertThat(page.evaluate("Chart.getChart('replay-chart').data.datasets.length")
                        .asInt())
                .isEqualTo(3);
        assertThat(page.text("#command")).contains("-p token-bucket:5/s:burst=20 -p fixed-window:120/m");
        assertThat(page.nameless()).isEmpty();
        assertThat(page.complaints()).isEmpty();
    }

    @Test
    void whatIsDrawnIsWhatIsInTheTable() {
        page.click("#sample");
        untilReplayed();

        String drawn =
                "Chart.getChart('replay-chart').data.datasets[0].data.reduce((sum, each) => sum + each, 0) .toFixed(0)";
        String inTable = "document.querySelector('#replay-table tbody td').textContent.replaceAll(',', '')";
        // The buckets of ten minutes are a second long, or two: rates are counts, or halves of them.
        String bucket = "(Chart.getChart('replay-chart').data.labels.length > 300 ? 1 : 2)";
        assertThat(page.evaluate("(" + drawn + " * " + bucket + ").toFixed(0)").asString())
                .isEqualTo(page.evaluate(inTable).asString());
    }

    @Test
    void aPastedCsvIsReplayedWithAnotherPolicyAdded() {
        page.set("log", "1760000000,alice\\\\n1760000000,alice\\\\n1760000001,bob".replace("\\\\n", "\\n"));
        page.click("#add-policy");
        page.click("#run-replay");
        untilReplayed();

        assertThat(page.text("#replay-facts")).startsWith("3 requests");
        assertThat(page.evaluate("document.querySelectorAll('#replay-table tbody tr').length")
                        .asInt())
                .isEqualTo(3);
        assertThat(page.text("#replay-worst")).contains("would have limited nobody");
        assertThat(page.complaints()).isEmpty();
    }

    @Test
    void whatCannotBeReadIsSaidBesideTheLog() {
        page.set("log", "hello");
        page.click("#run-replay");

        page.until("a problem is told", "!document.getElementById('replay-problem').hidden");
        assertThat(page.text("#replay-problem"))
                .contains("no line could be read")
                .contains("hello");
        // The browser itself notes every answer of 400.
        assertThat(page.complaints()).allMatch(complaint -> complaint.contains("400"));
    }

    @Test
    void anErrorTakesTheResultsBeforeItAway() {
        page.click("#sample");
        untilReplayed();
        page.until("the result is shown", "!document.getElementById('replay-result').hidden");

        page.set("log", "hello");
        page.click("#run-replay");
        page.until("a problem is told", "!document.getElementById('replay-problem').hidden");
        assertThat(page.evaluate("document.getElementById('replay-result').hidden")
                        .asBoolean())
                .isTrue();

        page.click("#sample");
        page.until("the result is shown again", "!document.getElementById('replay-result').hidden");
        assertThat(page.evaluate("document.getElementById('replay-problem').hidden")
                        .asBoolean())
                .isTrue();
    }

    @Test
    void aFileThatIsTooLargeIsRefusedBeforeItIsSent() {
        page.evaluate("""
                (() => {
                  const transfer = new DataTransfer();
                  transfer.items.add(new File([new Uint8Array(9_000_000)], 'huge.log'));
                  const input = document.querySelector('[name=file]');
                  input.files = transfer.files;
                  input.dispatchEvent(new Event('change'));
                })()""");

        assertThat(page.text("#replay-problem")).contains("huge.log has 9 MB").contains("8 MB");
        assertThat(page.complaints()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(ints = {360, 1280})
    void fitsIntoEveryWidth(int width) {
        page.look(width, 800, "dark");
        page.click("#sample");
        untilReplayed();

        page.until("no wider than the window", "document.documentElement.scrollWidth <= " + width);
    }
}
