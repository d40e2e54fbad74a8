"""The vocabulary of tiny models: common English words, including those of reviews. Other words are split into characters."""

from __future__ import annotations

WORDS = """
the of and to a in is it that was for on with as his he be at by i this had not are but from or have an they which one you were her
all she there would their we him been has when who will more no if out so said what up its about into than them can only other new
some could time these two may then do first any my now such like our over man me even most made after also did many before must
through years where much your way well down should because each just those people how too little state good very make world still own
see men work long get here between both life being under never day same another know while last might us great old year off come
since against go came right used take three film movie story plot actor actress acting cast scene scenes director script ending
character characters performance performances music screen audience viewer review comedy drama thriller action documentary dialogue
humor book food service place hotel phone product price quality battery love loved hate hated enjoy enjoyed like liked dislike
recommend avoid feel feels felt watch watched watching think thought found makes seems looks best better bad worse worst wonderful
excellent brilliant beautiful charming funny moving touching clever smart fresh perfect amazing fantastic superb delightful engaging
terrible awful horrible boring dull stupid poor weak slow flat ugly mess waste disappointing predictable annoying painful silly fails
fun strong solid fine nice interesting entertaining hilarious lovely powerful warm sad happy nothing something everything anything
hardly barely neither nor without despite although though however yet instead really quite rather almost truly simply ever always
often sometimes again enough less least big small young short high low real true false whole full part end start question answer city
country company market game team win wins lost sport news science computer president government war police money business united
man woman person child boy girl dog cat play plays playing sits standing walking running eating outside inside water street house
""".split()  # noqa: SIM905
CHARACTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
PUNCTUATION = ".,!?;:'\"()-/&$%#@*+=<>[]_`"


def vocabulary(special: tuple[str, ...]) -> list[str]:
    """Return the tokens in the order of their ids: ``special`` first, then punctuation, characters, continuations, and words."""
    continued = [f"##{character}" for character in CHARACTERS]
    endings = ["##s", "##ed", "##ing", "##ly", "##er", "##est", "##n", "##t"]
    return list(dict.fromkeys([*special, *PUNCTUATION, *CHARACTERS, *continued, *endings, *WORDS]))
