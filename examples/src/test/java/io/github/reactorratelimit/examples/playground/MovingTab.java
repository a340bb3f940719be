package io.github.reactorratelimit.examples.playground;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.reactorratelimit.examples.browser.Chromium;
import io.github.reactorratelimit.examples.browser.Page;
import io.github.reactorratelimit.testing.Await;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import reactor.test.scheduler.VirtualTimeScheduler;

/**
 * A tab in a real browser whose simulation runs in virtual time: the test moves the server's clock by one frame and waits until the page
 * has that frame. So what must be on the page is known to the mark, however slow the machine is.
 */
public abstract class MovingTab {

    /** From one frame to the next. */
    protected static final Duration FRAME = Duration.ofMillis(100);

    private static Chromium browser;
    private static VirtualTimeScheduler time;
    private static Playground playground;

    private final String tab;
    private final String hook;
    private Page page;

    /** @param hook the object of the page that tells tests what it shows */
    protected MovingTab(String tab, String hook) {
        this.tab = tab;
        this.hook = hook;
    }

    @BeforeAll
    static void startAll() {
        browser = Chromium.start();
        time = VirtualTimeScheduler.create();
        // What the filter does is another test's matter; here a fast machine must not meet it.
        playground = Playground.start(time, "reactor-ratelimit.enabled=false");
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
        page.go(playground.url() + "/#" + tab);
        page.until("the simulation has begun", "window." + hook + "?.simulation()");
        Await.until("the first frame", () -> {
            time.advanceTimeBy(FRAME);
            return now() > 0;
        });
    }

    @AfterEach
    void closePage() {
        List<String> complaints = page.complaints();
        page.close();
        Await.until("the simulation ends with its page", () -> running().size() == 0);
        assertThat(complaints).isEmpty();
    }

    /** The simulations of the tab. */
    protected abstract Running<?, ?> running();

    /** The server. */
    protected static Playground playground() {
        return playground;
    }

    /** The page, at its tab. */
    protected final Page page() {
        return page;
    }

    /** What the page says the time is, in milliseconds. */
    protected final double now() {
        return page.evaluate(hook + ".now()").asDouble();
    }

    /** Moves time, frame by frame, each of which the page has taken before the next. */
    protected final void advance(Duration duration) {
        double end = now() + duration.toMillis();
        for (double now = now(); now < end; now = now()) {
            time.advanceTimeBy(FRAME);
            page.until("the next frame", hook + ".now() > " + now);
        }
    }

    /** The colours that Chart.js takes if it is given none. */
    protected static final List<String> DEFAULT_COLOURS =
            List.of("rgb(54, 162, 235)", "rgb(255, 99, 132)", "rgb(255, 159, 64)", "rgb(255, 205, 86)");

    /** Presses the button of the theme, and asserts that canvases are drawn in its colours. */
    protected final void assertThemeIsFollowed(String variable, String... canvases) {
        String before = page.evaluate(
                        "getComputedStyle(document.documentElement).getPropertyValue('" + variable + "').trim()")
                .asString();
        page.click("#theme");
        try {
            for (String canvas : canvases) {
                Await.until(canvas + " is drawn in the new " + variable, () -> page.ink(canvas, variable) > 20);
                assertThat(page.ink(canvas, before))
                        .as("old %s in %s", variable, canvas)
                        .isZero();
            }
        } finally {
            page.evaluate("localStorage.clear()");
        }
    }

    /** Clicks, and waits until the server knows. */
    protected final void click(String selector) {
        page.click(selector);
        heard();
    }

    /** Waits until what was done has reached the server. */
    protected final void heard() {
        page.until("the server has heard it", hook + ".isHeard()");
    }

    /** Waits until all that the server told is in the picture. */
    protected final void drawn() {
        page.until("all is drawn", hook + ".isDrawn()");
    }
}
