/** The name of the empty files below the home's folder `folders`, each in a copy of the path of a folder that was added. */
export const markName = ".repoconf-added";
