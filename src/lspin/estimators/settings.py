"""The parameters that the estimators share: what each may be and what it means."""

from numbers import Integral, Real

from sklearn.utils._param_validation import Interval, StrOptions

from lspin.targets.settings import COUNT, FRACTION, NOT_NEGATIVE, POSITIVE, Setting

AUTO = StrOptions({"auto"})

HIDDEN_LAYER_SIZES = Setting(
    [AUTO, tuple, list],
    "Widths of the prediction network's hidden layers; `()` is a linear predictor (LLSPIN). `'auto'`: two "
    "layers of 50 units; linear if the table has fewer than 80 rows, fewer rows than columns, more than 300 "
    "columns, or is sparse. With many columns, layers of 50 units compete on those that boosted trees need.",
)
GATE_HIDDEN_LAYER_SIZES = Setting(
    [None, tuple, list],
    "Widths of the gating network's hidden layers. By default (50, 50) for a nonlinear predictor. For a "
    "linear one: (64,) from 200 rows on, () below, and (16,) if the table has fewer rows than columns (with a "
    "context: ()) or is sparse. For more than 300 columns and more rows: (500, 300).",
)
SPARSITY = Setting(
    [AUTO, NOT_NEGATIVE],
    "Price of an open gate, in units of the loss. `'auto'` chooses it on held-out rows from a path of prices. "
    "With hidden layers one training run is a whole path, as its price rises; else prices are fitted one by one.",
)
N_FEATURES = Setting(
    [None, COUNT],
    "Features per sample, instead of a sparsity: the model in which the median row opens this many gates, plus or "
    "minus one. Models of groups have it on their path; for networks its price is searched.",
)
N_PANEL = Setting(
    [None, COUNT],
    "The most columns that all samples together may use, gates included, as in an assay: a new sample needs no "
    "others. Columns of a context count too. Smaller panels are tried as well, and the smallest one that costs "
    "next to nothing is taken. For dense tables. By default there is no limit.",
)
RULE = Setting(
    [StrOptions({"accurate", "sparse"})],
    "How the sparsity is chosen on held-out rows. `'accurate'`: as few features as cost next to nothing against "
    "the best model of the path. `'sparse'`: the fewest features of all models whose loss is within one standard "
    "error of the lowest.",
)
START = Setting(
    [StrOptions({"auto", "groups", "networks"})],
    "What a model starts from. `'networks'`: random networks, which are trained. `'groups'`: groups of rows, told "
    "apart by many columns or by one, each with a few columns that count; it needs no training, but a dense "
    "table. `'auto'`: the better of both on held-out rows; networks alone if other parameters ask for them "
    "(layers, anchor, stability, diversity, sparsity, or members without bootstrap). With a context, only its "
    "columns tell the groups.",
)
CONTEXT = Setting(
    [None, "array-like"],
    "Columns that the gates look at, by name or position: those that say which features may matter for a sample, "
    "such as age, sex, subtype or batch. By default gates look at all columns. A feature that is open for no row "
    "of the training table then stays shut for new rows too.",
)
CONTEXT_ONLY = Setting(
    ["boolean"],
    "Whether the columns of the context are for the gates alone: they have no gate, cost nothing, and the "
    "predictor never sees them.",
)
STABILITY = Setting(
    [NOT_NEGATIVE],
    "How strongly similar samples are drawn to equal gates: the paper's λ₂, the price of a squared difference of "
    "gates for each pair of samples in a batch.",
)
DIVERSITY = Setting(
    [NOT_NEGATIVE],
    "How strongly dissimilar samples are kept from opening the same gates: the price of a shared gate for each "
    "pair of samples in a batch.",
)
AFFINITY = Setting(
    [StrOptions({"rbf", "labels"}), callable, "array-like"],
    "What similar means: `'rbf'` (Gaussian of the distance; the bandwidth is the median distance), `'labels'` "
    "(same class), a function of two tables that returns a matrix, or the matrix itself.",
)
GATE_EXCHANGE = Setting(
    [None, Interval(Real, 0, 1, closed="both")],
    "Share of the rows that see another row's gates in training, so that the predictor cannot read the answer "
    "off the gates. By default 0.6 for a nonlinear predictor, reached little by little in the first 60 % of a "
    "run, and 0.5 for sparse counts. For a linear one: 0.15 if the table has fewer rows than columns, else 0.",
)
NOISE_SCALE = Setting(
    [None, POSITIVE],
    "Standard deviation of the gates' noise at the start of training. By default 0.7 for a nonlinear predictor, "
    "with a second run at 1; 1 for survival times and for tables with fewer rows than columns; 0.45 for a linear "
    "predictor (0.3 below 200 rows), and 0.5 for sparse counts.",
)
LEARNING_RATE = Setting(
    [None, POSITIVE],
    "Learning rate of Adam at the start of a cosine schedule. By default 0.005 for a nonlinear predictor, "
    "0.04 for a linear one; for sparse tables and those with fewer rows than columns 0.003 and 0.01.",
)
SCALING = Setting(
    [StrOptions({"auto", "columns", "common", "none"})],
    "What the numbers of a column are divided by. `'columns'`: its standard deviation (of a sparse table, the "
    "size of its entries); `'common'`: the largest absolute value of the whole table, for columns of one unit, "
    "such as pixels; `'none'`: nothing; `'auto'`: `'common'` if no value is negative or missing "
    "and a quarter of 100 or more columns reach the same largest value, else `'columns'`.",
)
CENTERING = Setting(
    [None, "boolean"],
    "Whether the mean of a column is subtracted first, so that a shut gate stands for the mean instead of 0. By "
    "default only if columns are scaled one by one, and where 0 is no ordinary value (further from the mean than "
    "one standard deviation). Sparse tables are never centred.",
)
ZERO_IS_ABSENT = Setting(
    ["boolean"],
    "Whether a 0 in X is no value at all, like a word that a text does not contain or a gene that is not "
    "expressed. It then has no gate and costs nothing, and columns are scaled but not centred. Always true "
    "for a sparse matrix, whose gates come as a sparse matrix.",
)
ANCHOR = Setting(
    [StrOptions({"auto", "ridge", "naive_bayes"}), "array-like", None],
    "Coefficients that a linear predictor starts from and is drawn to: `'ridge'`, `'naive_bayes'` (classes "
    "and counts), an array like `coef_`, or None. `'auto'`: if the table has fewer rows than columns or is "
    "sparse, a ridge or, for counts, the better of the two on held-out rows; else none.",
)
WEIGHT_DECAY = Setting(
    [AUTO, NOT_NEGATIVE],
    "Decay of the weights. `'auto'`: 0 for a nonlinear predictor; for a linear one 0 or 3, and for survival times "
    "1, 3 or 10, whichever does better on held-out rows.",
)
MAX_EPOCHS = Setting(
    [None, COUNT],
    "Passes over the rows. By default about 2,000 steps; for a nonlinear predictor 3,000 (at most 375 passes if "
    "these are 1,100 steps or more); 400 steps for tables with fewer rows than columns, 200 for sparse counts; "
    "at least 10 passes.",
)
BATCH_SIZE = Setting(
    [COUNT],
    "Rows of a step; smaller tables are taken whole.",
)
VALIDATION_FRACTION = Setting(
    [FRACTION],
    "Part of the rows held out to choose the sparsity. Tables of up to 200 rows are cross-validated in five "
    "folds instead.",
)
PATIENCE = Setting(
    [None, COUNT],
    "Epochs without a lower validation loss after which training moves to its last phase or ends; the best "
    "epoch of the last phase is kept. By default training runs to its end.",
)
N_RESTARTS = Setting(
    [AUTO, COUNT],
    "Initialisations tried for each sparsity if an `eval_set` is given. `'auto'`: 2, and more below 500 rows "
    "(up to 8, or 64 with a linear predictor) unless the table has fewer rows than columns.",
)
N_MEMBERS = Setting(
    [COUNT],
    "Models to train with other initialisations and to average.",
)
BOOTSTRAP = Setting(
    ["boolean"],
    "Whether each member draws its own rows with replacement.",
)
COLUMNS = Setting(
    [None, AUTO],
    "How text and dates in a frame are read. `'auto'`: dates (also text that is all year-month-day) as days since "
    "the first one of the training table, text of up to 20 values as categories. By default both are refused.",
)
N_JOBS = Setting([None, Integral], "Fits to run in parallel, as in joblib.", is_general=True)
RANDOM_STATE = Setting(
    ["random_state"], "Seed. The same seed gives the same fit, bit for bit, whatever `n_jobs` is.", is_general=True
)
VERBOSE = Setting(["verbose"], "1 shows a progress bar.", is_general=True)

ATTRIBUTES = {
    "sparsity_, weight_decay_ : float": "The chosen ones. Of a model of groups: the price up to which its "
    "features pay for themselves, and the penalty of its coefficients.",
    "path_ : pandas.DataFrame": "One row for each sparsity tried: held-out loss with its standard error, "
    "held-out score, and features of a row.",
    "panel_path_ : pandas.DataFrame": "One row for each size of a panel tried: held-out loss with its standard "
    "error, score, and features of a row. Empty without `n_panel`.",
    "history_ : pandas.DataFrame": "One row for each member and epoch: loss, validation loss, mean open gates. A "
    "model of groups has one row.",
    "n_iter_ : int": "Epochs of the longest fit.",
    "n_starts_ : int": "Initialisations tried for each sparsity.",
    "start_ : str": "`'groups'` or `'networks'`: what the model started from.",
    "contest_ : pandas.DataFrame": "What the start was chosen from, all on the same held-out rows: the loss of a "
    "constant, of one group, of several groups and of networks; by how much each is behind the chosen one, with "
    "the standard error of the difference. Not a number: it had no prospect and was not tried. Empty if nothing "
    "competed.",
    "structure_ : pandas.DataFrame": "The groups of rows that a model of groups has found, one row for each "
    "member: size, what tells each, and what counts in it.",
    "components_ : pandas.DataFrame": "The components of the columns that divided the rows of a model of groups: "
    "how much they hold, and the columns that follow each.",
    "structure_frequency_ : pandas.DataFrame": "How many members find each group and each feature in it, with "
    "intervals.",
    "feature_importances_ : numpy.ndarray": "Mean absolute contribution of each column over training rows; "
    "they add up to 1.",
    "columns_needed_ : numpy.ndarray": "Columns that a prediction can depend on: those that gates look at, and "
    "those whose gate can open. With a context or a panel, a frame may lack the others.",
    "n_features_in_ : int": "Number of columns.",
    "feature_names_in_ : numpy.ndarray": "Names of the columns, if they are text.",
    "kind_ : lspin.targets.Kind": "The kind of target, with what was learned of it.",
}
